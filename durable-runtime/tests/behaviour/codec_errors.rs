//! A payload codec that fails: a temporary error is waited out, a permanent one stops the
//! instance or refuses the call, and neither is tried for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use durable_core::provider::{InstanceStatus, ProviderError, StatusKind};
use durable_runtime::{
    Activity, ActivityContext, Client, ClientError, Failure, FailureKind, Orchestration,
    OrchestrationContext, PayloadCodec, PayloadCodecError, Registry, Runtime, RuntimeOptions,
};

use crate::faulty::Faulty;
use crate::world::{World, pass, settle, stop};

const ECHO: Activity<String, String> = Activity::new("echo");
const CALL: Orchestration<String, String> = Orchestration::new("call");
const STATE: Orchestration<String, String> = Orchestration::new("state");

/// The value that no key fits.
const UNENCODABLE: &str = "no key for this";

/// A codec that turns bytes around, takes a second of time for each, and refuses one value.
#[derive(Clone, Default)]
struct Picky {
    encoded: Arc<AtomicU64>,
    is_key_destroyed: Arc<AtomicBool>,
    seconds: u64,
}

#[async_trait]
impl PayloadCodec for Picky {
    async fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
        self.encoded.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(self.seconds)).await;
        if plain
            .windows(UNENCODABLE.len())
            .any(|part| part == UNENCODABLE.as_bytes())
        {
            return Err(PayloadCodecError::permanent("no key is meant for it"));
        }
        Ok(plain.iter().rev().copied().collect())
    }

    async fn decode(&self, coded: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
        tokio::time::sleep(Duration::from_secs(self.seconds)).await;
        if self.is_key_destroyed.load(Ordering::Relaxed) {
            return Err(PayloadCodecError::permanent("its key was destroyed"));
        }
        Ok(coded.iter().rev().copied().collect())
    }
}

/// Calls an activity, and returns what it returned or why it failed.
async fn call(ctx: OrchestrationContext, word: String) -> Result<String, Failure> {
    match ctx.activity(ECHO, &word).await {
        Ok(word) => Ok(word),
        Err(failure) => Ok(format!("failed: {failure}")),
    }
}

/// Keeps a value that cannot be encoded.
async fn state(ctx: OrchestrationContext, word: String) -> Result<String, Failure> {
    ctx.sleep(Duration::from_secs(10)).await?;
    ctx.set_custom_status(&UNENCODABLE)?;
    Ok(word)
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(CALL, call)
        .orchestration(STATE, state)
        .activity(ECHO, |_: ActivityContext, word: String| async move {
            match word.as_str() {
                "refuse" => Ok::<_, Failure>(UNENCODABLE.to_owned()),
                _ => Ok(word),
            }
        })
        .build()
        .unwrap()
}

async fn node(store: &Faulty, codec: &Picky) -> Runtime {
    Runtime::builder(store.clone(), registry())
        .options(RuntimeOptions::default().cached_executions(0))
        .payload_codec(codec.clone())
        .start()
        .await
        .unwrap()
}

fn client(store: &Faulty, codec: &Picky) -> Client {
    Client::new(store.clone()).with_payload_codec(codec.clone())
}

fn suspended(status: InstanceStatus) -> Failure {
    match status {
        InstanceStatus::Suspended { failure } => failure,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_can_never_be_encoded_suspends_its_instance() {
    let world = World::new();
    let store = world.counted();
    let codec = Picky::default();
    let node = node(&store, &codec).await;
    let client = client(&store, &codec);
    client.start(STATE, "s", &"word".into()).await.unwrap();
    pass(Duration::from_secs(11)).await;
    let failure = suspended(world.status("s").await);
    assert_eq!(failure.kind, FailureKind::PayloadCodec);
    assert_eq!(
        failure.message,
        "a payload could not be encoded: no key is meant for it"
    );
    let (commits, encoded) = (store.calls("commit"), codec.encoded.load(Ordering::Relaxed));
    pass(Duration::from_secs(3600)).await;
    assert_eq!(store.calls("commit"), commits, "nothing is tried again");
    assert_eq!(codec.encoded.load(Ordering::Relaxed), encoded);
    assert_eq!(
        world.kinds("s", 1).await,
        ["OrchestrationStarted", "TimerCreated"],
        "the step left nothing"
    );
    stop(node).await;
    world.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn a_result_that_can_never_be_encoded_fails_its_activity() {
    let world = World::new();
    let store = world.counted();
    let codec = Picky::default();
    let client = client(&store, &codec);
    let instance = client.start(CALL, "c", &"refuse".into()).await.unwrap();
    // One node runs turns, the other activities: the result goes through the store.
    let options = RuntimeOptions::default;
    let turns = Runtime::builder(store.clone(), registry())
        .options(options().max_activities(0))
        .payload_codec(codec.clone());
    let turns = turns.start().await.unwrap();
    let activities = Runtime::builder(store.clone(), registry())
        .options(options().max_turns(0))
        .payload_codec(codec.clone());
    let activities = activities.start().await.unwrap();
    assert_eq!(
        instance.wait().await.unwrap(),
        "failed: payload codec: a payload could not be encoded: no key is meant for it"
    );
    assert_eq!(
        world.kinds("c", 1).await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityFailed",
            "OrchestrationCompleted"
        ]
    );
    stop(turns).await;
    stop(activities).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_result_that_travels_in_memory_suspends_and_is_not_lost() {
    let world = World::new();
    let store = world.counted();
    let codec = Picky::default();
    let node = node(&store, &codec).await;
    let client = client(&store, &codec);
    let instance = client.start(CALL, "c", &"refuse".into()).await.unwrap();
    settle().await;
    let failure = suspended(world.status("c").await);
    assert_eq!(failure.kind, FailureKind::PayloadCodec);
    // The result became a failure in the inbox; the activity does not run again.
    assert!(world.store.snapshot().work.is_empty());
    instance.resume().await.unwrap();
    assert_eq!(
        instance.wait().await.unwrap(),
        "failed: payload codec: a payload could not be encoded: no key is meant for it"
    );
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn what_can_never_be_decoded_suspends_its_instance() {
    let world = World::new();
    let store = world.counted();
    let codec = Picky::default();
    let client = client(&store, &codec);
    let instance = client.start(CALL, "c", &"word".into()).await.unwrap();
    codec.is_key_destroyed.store(true, Ordering::Relaxed);
    let node = node(&store, &codec).await;
    settle().await;
    let failure = suspended(world.status("c").await);
    assert_eq!(failure.kind, FailureKind::PayloadCodec);
    assert!(
        failure.message.contains("its key was destroyed"),
        "{failure}"
    );
    let fetches = store.calls("fetch_instances");
    pass(Duration::from_secs(50)).await;
    assert!(
        store.calls("fetch_instances") <= fetches + 1,
        "nothing spins"
    );
    codec.is_key_destroyed.store(false, Ordering::Relaxed);
    instance.resume().await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), "word");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_call_that_can_never_be_encoded_is_refused_and_leaves_nothing() {
    let world = World::new();
    let store = world.counted();
    let client = client(&store, &Picky::default());
    let error = client
        .start(CALL, "c", &UNENCODABLE.into())
        .await
        .unwrap_err();
    let reason = "a payload could not be encoded: no key is meant for it".to_owned();
    let refused = ProviderError::NotEncodable { reason };
    assert_eq!(error, ClientError::Provider(refused));
    assert_eq!(store.calls("start"), 0);
    assert!(world.store.snapshot().instances.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_codec_that_waits_for_its_keys_blocks_no_other_instance() {
    let world = World::new();
    let store = world.counted();
    let codec = Picky {
        seconds: 1,
        ..Picky::default()
    };
    let node = node(&store, &codec).await;
    let client = client(&store, &codec);
    let began = world.elapsed();
    let starts = ["a", "b", "c", "d", "e"].map(|id| client.start(CALL, id, &id.into()));
    let mut instances = Vec::new();
    for start in futures::future::join_all(starts.map(IntoFuture::into_future)).await {
        instances.push(start.unwrap());
    }
    for instance in instances {
        assert_eq!(instance.wait().await.unwrap(), instance.id().as_str());
    }
    // Alone one takes nine seconds: a value each for start, claim, three commits and
    // what is read of them.
    assert!(world.elapsed() - began < Duration::from_secs(20));
    assert_eq!(world.status("a").await.kind(), StatusKind::Completed);
    stop(node).await;
    world.assert_done();
}
