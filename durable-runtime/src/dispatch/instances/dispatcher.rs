//! The instance dispatcher: each ready instance gets a task, and messages for an
//! instance that has one go to that task.

use std::sync::Arc;

use durable_core::provider::{ReadyInstance, WakeTopic};

use super::{Incoming, instance_task};
use crate::combine::join_all;
use crate::dispatch::wait::{self, Backoff};
use crate::node::Node;

/// How many instances are fetched at once. Few: what runs comes to its end while the
/// rest waits in the store, and turns overlap with the commits of others instead of
/// all arriving together.
const BATCH: usize = 32;

/// Fetches ready instances until the node drains.
pub(crate) async fn serve_instances(node: Arc<Node>) {
    let mut backoff = Backoff::default();
    while !node.draining.is_cancelled() {
        let max = node.turn_slots.available_permits().clamp(1, BATCH);
        node.instance_tasks.fetch_begins();
        let fetch = node.provider.fetch_instances(node.session, max);
        let ready = match fetch.await {
            Ok(ready) => ready,
            Err(error) => {
                wait::out_lost_answer(&node, &mut backoff, &error).await;
                continue;
            }
        };
        backoff = Backoff::default();
        let fetched = ready.instances.len();
        begin_all(&node, ready.instances).await;
        if fetched < max {
            let news = wait::for_news(&node, &WakeTopic::Instances, ready.seen, ready.next_due_ms);
            tokio::select! {
                biased;
                () = news => {}
                () = node.look_again.notified() => {}
            }
        } else {
            wait_for_a_slot(&node).await;
        }
    }
}

/// Begins in the order of the claim, so that the messages of an instance keep theirs.
/// They are decoded before: of several instances at once, since a codec may have to ask
/// for a key.
async fn begin_all(node: &Arc<Node>, instances: Vec<ReadyInstance>) {
    let decoding = instances.into_iter().map(|mut ready| {
        Box::pin(async move {
            let mut incoming = Vec::with_capacity(ready.messages.len());
            for message in std::mem::take(&mut ready.messages) {
                incoming.push(Incoming::of(message, &node.codec).await);
            }
            (ready, incoming)
        })
    });
    for (ready, incoming) in join_all(decoding).await {
        begin(node, ready, incoming);
    }
}

/// The task is registered before it runs, so that what comes next finds it.
fn begin(node: &Arc<Node>, ready: ReadyInstance, incoming: Vec<Incoming>) {
    if let Some(channel) = node.instance_tasks.claimed(&ready.lease, &incoming) {
        node.spawn(instance_task::run(
            Arc::clone(node),
            ready,
            incoming,
            channel,
        ));
    }
}

async fn wait_for_a_slot(node: &Node) {
    tokio::select! {
        biased;
        () = node.draining.cancelled() => {}
        _ = node.turn_slots.acquire() => {}
    }
}
