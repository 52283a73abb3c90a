//! What code logs is logged once, however often it is replayed.

use std::sync::Mutex;
use std::time::Duration;

use durable_runtime::{Failure, Orchestration, OrchestrationContext, Registry};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::world::{World, forgetful};

const CODE: Orchestration<(), ()> = Orchestration::new("code");

/// Keeps the messages of this file.
struct Listener {
    heard: &'static Mutex<Vec<String>>,
}

struct Message(Option<String>);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0 = Some(format!("{value:?}"));
        }
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().ends_with("silence")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.heard
            .lock()
            .unwrap()
            .push(format!("span {}", span.metadata().name()));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(None);
        event.record(&mut message);
        self.heard.lock().unwrap().extend(message.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tracing::instrument(skip_all)]
async fn wait(ctx: &OrchestrationContext, seconds: u64) -> Result<(), Failure> {
    ctx.sleep(Duration::from_secs(seconds)).await?;
    tracing::info!("{seconds} over");
    Ok(())
}

/// Says when it is dropped.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        tracing::info!("dropped");
    }
}

async fn code(ctx: OrchestrationContext, (): ()) -> Result<(), Failure> {
    let _guard = Guard;
    tracing::info!("begin");
    let (a, b) = tokio::join!(wait(&ctx, 1), wait(&ctx, 2));
    a.and(b)?;
    let effect = async {
        tracing::info!("effect");
        Ok::<_, Failure>(())
    };
    ctx.run("effect", effect).await?;
    tracing::info!("after effect");
    ctx.sleep(Duration::from_secs(1)).await?;
    tracing::info!("end");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn replays_are_silent() {
    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let _listening = tracing::subscriber::set_default(Listener { heard: &HEARD });
    let registry = Registry::builder()
        .orchestration(CODE, code)
        .build()
        .unwrap();
    // Every turn begins with a replay and is verified by another one, and the node is
    // replaced in the middle.
    let mut world = World::with(registry, forgetful()).await;
    let instance = world.client().start(CODE, "i", &()).await.unwrap();
    for _ in 0..7 {
        tokio::time::sleep(Duration::from_millis(400)).await;
        world.restart().await;
    }
    instance.wait().await.unwrap();
    world.stop().await;
    world.check_all().await;
    assert_eq!(
        *HEARD.lock().unwrap(),
        [
            "begin",
            "span wait",
            "span wait",
            "1 over",
            "2 over",
            "effect",
            "after effect",
            "end",
            "dropped",
        ]
    );
}
