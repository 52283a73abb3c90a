//! The connection that hears wake-ups. While it is away nothing is heard, so when it comes
//! back everything may have changed. One that is silent is asked whether it still lives.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use redis::aio::PubSubSink;
use redis::{Msg, RedisError};
use tokio::sync::oneshot;

use crate::store::Store;

/// How long it waits before it connects again.
const PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Listens. Tells once when it hears for the first time.
pub(crate) async fn serve(store: Arc<Store>, ready: oneshot::Sender<()>) {
    let mut ready = Some(ready);
    let mut pause = PAUSE;
    let mut node = 0;
    loop {
        let bound = store.options.connect_timeout;
        match tokio::time::timeout(bound, connect(&store, node)).await {
            Ok(Ok((mut sink, mut messages))) => {
                store.wakeups.note_everything();
                if let Some(ready) = ready.take() {
                    // The caller that opens the store may be gone.
                    let _ = ready.send(());
                }
                pause = PAUSE;
                while let Some(message) = next(&store, &mut sink, &mut messages).await {
                    let published = String::from_utf8_lossy(message.get_payload_bytes());
                    store.wakeups.note_published(&published);
                }
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "wake-ups cannot be heard");
                node += 1;
            }
            Err(_) => node += 1,
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn connect(
    store: &Store,
    node: usize,
) -> Result<(PubSubSink, redis::aio::PubSubStream), RedisError> {
    let (mut sink, messages) = store.nodes.listen(node).await?.split();
    sink.subscribe(&store.channel).await?;
    Ok((sink, messages))
}

/// The next message; none when the connection is dead.
async fn next(
    store: &Store,
    sink: &mut PubSubSink,
    messages: &mut redis::aio::PubSubStream,
) -> Option<Msg> {
    let bound = store.options.poll_interval;
    loop {
        if let Ok(message) = tokio::time::timeout(bound, messages.next()).await {
            return message;
        }
        let ping = tokio::time::timeout(bound, sink.ping::<redis::Value>());
        ping.await.ok()?.ok()?;
    }
}
