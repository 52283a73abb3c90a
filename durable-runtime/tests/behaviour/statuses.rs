//! Custom status: what code says of itself, and takes back.

use durable_core::provider::Provider;
use durable_runtime::{EventName, InstanceHandle, Orchestration, OrchestrationContext, Registry};

use crate::world::{World, settle, stop};

/// Does with its status what the events say, until one of them ends it.
const TALK: Orchestration<(), Option<String>> = Orchestration::new("talk");
const SAY: EventName<Say> = EventName::new("say");

#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
enum Say {
    Text(String),
    /// A status that encodes as `null`.
    None,
    Unit,
    SomeNone,
    Clear,
    ContinueAsNew,
    /// Ends with the status.
    Return,
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(TALK, |ctx: OrchestrationContext, ()| async move {
            loop {
                match ctx.external_event(SAY).await? {
                    Say::Text(text) => ctx.set_custom_status(&text)?,
                    Say::None => ctx.set_custom_status(&None::<String>)?,
                    Say::Unit => ctx.set_custom_status(&())?,
                    Say::SomeNone => ctx.set_custom_status(&Some(None::<String>))?,
                    Say::Clear => ctx.clear_custom_status()?,
                    Say::ContinueAsNew => return ctx.continue_as_new(&()).await,
                    Say::Return => return ctx.custom_status(),
                }
            }
        })
        .build()
        .unwrap()
}

async fn say(talk: &InstanceHandle<Option<String>>, what: Say) -> Option<String> {
    talk.raise(SAY, &what).await.unwrap();
    settle().await;
    talk.custom_status().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_status_is_cleared_by_the_call_and_by_every_value_that_is_null() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let talk = world.client().start(TALK, "t", &()).await.unwrap();
    for clears in [Say::Clear, Say::None, Say::Unit, Say::SomeNone] {
        let said = say(&talk, Say::Text("packing".into())).await;
        assert_eq!(said.as_deref(), Some("packing"));
        assert_eq!(say(&talk, clears.clone()).await, None, "{clears:?}");
        let record = world.store.instance(&"t".into()).await.unwrap();
        assert_eq!(record.unwrap().custom_status, None, "{clears:?}");
    }
    say(&talk, Say::Return).await;
    assert_eq!(talk.wait().await, Ok(None));
    let cleared = world.kinds("t", 1).await;
    let cleared = cleared.iter().filter(|kind| **kind == "ViewCleared");
    assert_eq!(cleared.count(), 4);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_status_that_was_cleared_stays_so_in_a_replay_and_after_continue_as_new() {
    let world = World::new();
    let first = world.node(&registry()).await;
    let talk = world.client().start(TALK, "t", &()).await.unwrap();
    say(&talk, Say::Text("packing".into())).await;
    say(&talk, Say::Clear).await;
    stop(first).await;
    // Another node replays the history.
    let second = world.node(&registry()).await;
    assert_eq!(say(&talk, Say::ContinueAsNew).await, None);
    say(&talk, Say::Return).await;
    assert_eq!(talk.wait().await, Ok(None));
    stop(second).await;
    world.assert_done();
}
