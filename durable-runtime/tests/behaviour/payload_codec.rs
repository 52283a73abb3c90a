//! A codec between the runtime and its store: nothing readable is stored, and the
//! code sees no difference.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use durable_core::provider::{InstanceFilter, InstanceStatus, Provider, StatusKind};
use durable_core::{EventId, ExecutionId, Limits};
use durable_runtime::{
    Activity, ActivityContext, Client, ClientError, EventName, Failure, FailureKind, Orchestration,
    OrchestrationContext, PayloadCodec, PayloadCodecError, PromiseToken, Registry, RetryPolicy,
    Runtime, RuntimeOptions,
};

use durable_testkit::Snapshot;

use crate::faulty::Fault;
use crate::journey::{self, JOURNEY};
use crate::world::{World, pass, settle, stop};

/// What must never be found in a store.
const SECRET: &str = "secret";

/// Says it in another way each time, as encryption with a fresh nonce does.
#[derive(Clone)]
struct Cipher {
    key: u8,
    next_nonce: Arc<AtomicU8>,
    is_away: Arc<AtomicBool>,
}

impl Cipher {
    fn with_key(key: u8) -> Self {
        Self {
            key,
            next_nonce: Arc::default(),
            is_away: Arc::default(),
        }
    }
}

#[async_trait]
impl PayloadCodec for Cipher {
    async fn encode(&self, plain: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(PayloadCodecError::temporary("the key service is away"));
        }
        let nonce = self.next_nonce.fetch_add(1, Ordering::Relaxed);
        let head = [self.key, nonce];
        let body = plain.iter().map(|byte| byte ^ 0xa5 ^ self.key ^ nonce);
        Ok(head.into_iter().chain(body).collect())
    }

    async fn decode(&self, coded: &[u8]) -> Result<Vec<u8>, PayloadCodecError> {
        match coded {
            [key, nonce, body @ ..] if *key == self.key => Ok(body
                .iter()
                .map(|byte| byte ^ 0xa5 ^ self.key ^ nonce)
                .collect()),
            _ => Err(PayloadCodecError::temporary("another key")),
        }
    }
}

async fn coded_node(world: &World, registry: &Registry, codec: &Cipher) -> Runtime {
    let options = RuntimeOptions::default().cached_executions(0);
    Runtime::builder(world.store.clone(), registry.clone())
        .options(options)
        .payload_codec(codec.clone())
        .start()
        .await
        .unwrap()
}

fn coded_client(world: &World, codec: &Cipher) -> Client {
    world.client().with_payload_codec(codec.clone())
}

/// Nothing that was said in confidence is in the store.
fn assert_secret(world: &World) {
    let stored = contents(&world.store.snapshot());
    if let Some(position) = stored.find(SECRET) {
        let around = &stored[position.saturating_sub(300)..stored.len().min(position + 50)];
        panic!("the store holds: {around}");
    }
}

/// All that is stored, as text that shows payloads: their `Debug` does not.
fn contents(store: &Snapshot) -> String {
    let histories: Vec<_> = store.histories.values().collect();
    let instances = store.instances.values().map(|instance| {
        let record = &instance.record;
        (&instance.inbox, &record.status, &record.custom_status)
    });
    let instances: Vec<_> = instances.collect();
    let work = store
        .work
        .values()
        .map(|work| (&work.item, &work.heartbeat));
    let work: Vec<_> = work.collect();
    let poisoned: Vec<_> = store.poisoned.values().collect();
    let payloads = serde_json::to_string(&(histories, instances, work, poisoned)).unwrap();
    format!("{store:?}\n{payloads}")
}

const TALK: Orchestration<String, String> = Orchestration::new("talk");
const LISTEN: Orchestration<String, String> = Orchestration::new("listen");
const ECHO: Activity<String, String> = Activity::new("echo");
const FAIL: Activity<String, String> = Activity::new("fail");
const WORD: EventName<String> = EventName::new("word");

/// Says a secret in every way there is.
async fn talk(ctx: OrchestrationContext, word: String) -> Result<String, Failure> {
    if let Some(state) = ctx.state::<String>("state")? {
        let unread = ctx.external_event(WORD).await?;
        let cancelled = ctx.external_event(WORD).await.unwrap_err();
        assert!(cancelled.is_cancelled());
        let reason = ctx.cancel_reason().unwrap();
        return Ok(format!("{state} {unread} {reason}"));
    }
    ctx.set_custom_status(&word)?;
    ctx.set_state("state", &word)?;
    let retry = RetryPolicy::attempts(2).first_backoff(Duration::from_secs(1));
    let echoed = ctx.activity(ECHO, &word).retry(retry).await?;
    let failed = ctx.activity(FAIL, &echoed).await.unwrap_err();
    let details = failed.details.unwrap();
    assert_eq!((failed.message.as_str(), &*details), (SECRET, "\"secret\""));
    let effect = ctx
        .run("effect", async { Ok::<_, Failure>(echoed.clone()) })
        .await?;
    let listened = ctx.sub_orchestration(LISTEN, &effect).await?;
    ctx.start_detached(LISTEN, "detached", &listened)?;
    let promise = ctx.promise::<String>("promise")?;
    ctx.send_event("listener", WORD, &promise.token().to_string())
        .detach()?;
    assert_eq!(promise.await?, SECRET);
    let rejected = ctx.promise::<String>("rejected")?;
    ctx.reject_promise(rejected.token().clone(), failure())?;
    assert_eq!(rejected.await.unwrap_err(), failure());
    ctx.continue_as_new(&listened).await
}

fn failure() -> Failure {
    Failure::application("told", SECRET).with_details("\"secret\"")
}

/// Gives back what it hears; the listener resolves a promise first.
async fn listen(ctx: OrchestrationContext, word: String) -> Result<String, Failure> {
    if word == "wait for a token" {
        let token: PromiseToken = ctx.external_event(WORD).await?.parse().unwrap();
        ctx.resolve_promise(token, SECRET)?;
    }
    Ok(word)
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(TALK, talk)
        .orchestration(LISTEN, listen)
        .activity(ECHO, |ctx: ActivityContext, word: String| async move {
            match ctx.attempt() {
                1 => {
                    ctx.heartbeat(&word).await?;
                    Err(failure())
                }
                _ => Ok::<_, Failure>(ctx.earlier_heartbeat::<String>()?.unwrap()),
            }
        })
        .activity(FAIL, |_: ActivityContext, _: String| async move {
            Err::<String, _>(failure().not_retryable())
        })
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn nothing_readable_is_stored_and_everything_works() {
    let world = World::new();
    let codec = Cipher::with_key(1);
    let node = coded_node(&world, &registry(), &codec).await;
    let client = coded_client(&world, &codec);
    let talk = client.start(TALK, "t", &SECRET.into()).await.unwrap();
    let waiting = "wait for a token".to_owned();
    let listener = client.start(LISTEN, "listener", &waiting).await.unwrap();
    settle().await;
    assert_secret(&world);
    let status: Option<String> = talk.custom_status().await.unwrap();
    assert_eq!(status.as_deref(), Some(SECRET));
    talk.raise("unread", &SECRET).await.unwrap();
    talk.raise(WORD, &SECRET.into()).await.unwrap();
    assert_secret(&world);
    let next = ExecutionId::new(2);
    let record = talk
        .wait_until(|record| record.execution_id == next)
        .await
        .unwrap();
    assert_eq!(record.custom_status.as_deref(), Some("\"secret\""));
    assert_eq!(listener.wait().await.unwrap(), waiting);
    pass(Duration::from_secs(1)).await;
    assert_secret(&world);
    stop(node).await;
    talk.suspend(SECRET).await.unwrap();
    assert_secret(&world);
    let suspended = talk.record().await.unwrap().status;
    assert!(
        matches!(suspended, InstanceStatus::Suspended { failure } if failure.message == SECRET)
    );
    talk.resume().await.unwrap();
    talk.cancel(SECRET).await.unwrap();
    assert_secret(&world);
    let node = coded_node(&world, &registry(), &codec).await;
    assert_eq!(talk.wait().await.unwrap(), "secret secret secret");
    assert_secret(&world);
    let detached = client.instance(LISTEN, "detached");
    assert_eq!(detached.wait().await.unwrap(), SECRET);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_journey_leaves_the_same_history_with_a_codec_and_without() {
    let world = World::new();
    let codec = Cipher::with_key(1);
    let node = coded_node(&world, &journey::registry(), &codec).await;
    let client = coded_client(&world, &codec);
    journey::start(&client, "j").await;
    let journey = client.instance(JOURNEY, "j");
    assert_eq!(journey.wait().await.unwrap(), journey::RESULT);
    stop(node).await;
    world.assert_done();
    let plain = {
        let world = World::new();
        let node = world.node(&journey::registry()).await;
        journey::start(&world.client(), "j").await;
        let journey = world.client().instance(JOURNEY, "j");
        assert_eq!(journey.wait().await.unwrap(), journey::RESULT);
        stop(node).await;
        world.history("j", 2).await
    };
    let page = journey
        .history(ExecutionId::new(2), EventId::UNASSIGNED, usize::MAX)
        .await
        .unwrap();
    let events = |history: &[durable_core::HistoryEntry]| {
        let mut lines: Vec<String> = history
            .iter()
            .map(|entry| journey::line(&entry.event))
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(events(&page.entries), events(&plain));
    assert_ne!(events(&world.history("j", 2).await), events(&plain));
}

#[tokio::test(start_paused = true)]
async fn commits_that_are_sent_again_in_another_cipher_are_applied_once() {
    let world = World::new();
    let codec = Cipher::with_key(1);
    let store = world.faulty(|name, call| match (name, call % 3) {
        ("commit", 0) => Fault::UnknownAfter,
        ("commit", 1) => Fault::Unavailable,
        _ => Fault::None,
    });
    let node = Runtime::builder(store, journey::registry())
        .payload_codec(codec.clone())
        .start()
        .await
        .unwrap();
    let client = coded_client(&world, &codec);
    journey::start(&client, "j").await;
    let journey = client.instance(JOURNEY, "j");
    assert_eq!(journey.wait().await.unwrap(), journey::RESULT);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_node_with_another_key_hands_back_what_it_cannot_read() {
    let world = World::new();
    let codec = Cipher::with_key(1);
    let client = coded_client(&world, &codec);
    let waiting = "wait for a token".to_owned();
    client.start(LISTEN, "listener", &waiting).await.unwrap();
    let talk = client.start(TALK, "t", &SECRET.into()).await.unwrap();
    let stranger = coded_node(&world, &registry(), &Cipher::with_key(2)).await;
    settle().await;
    let unreadable = "payload codec: what is stored cannot be read on this node: another key: \
                      give it the payload codec that wrote it";
    assert_eq!(world.blocked("t").await.as_deref(), Some(unreadable));
    assert_eq!(world.status("t").await.kind(), StatusKind::Pending);
    let node = coded_node(&world, &registry(), &codec).await;
    // The work of the retry is offered to both nodes.
    talk.raise(WORD, &SECRET.into()).await.unwrap();
    talk.wait_until(|record| record.execution_id == ExecutionId::new(2))
        .await
        .unwrap();
    stop(node).await;
    // A history that cannot be read, and a message that cannot.
    talk.raise("unread", &SECRET).await.unwrap();
    pass(Duration::from_secs(60)).await;
    assert_eq!(world.blocked("t").await.as_deref(), Some(unreadable));
    let node = coded_node(&world, &registry(), &codec).await;
    talk.cancel(SECRET).await.unwrap();
    assert_eq!(talk.wait().await.unwrap(), "secret secret secret");
    assert_eq!(talk.record().await.unwrap().blocked, None);
    stop(node).await;
    stop(stranger).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_can_be_terminated() {
    let world = World::new();
    let client = coded_client(&world, &Cipher::with_key(1));
    let talk = client.start(TALK, "t", &SECRET.into()).await.unwrap();
    let stranger = coded_node(&world, &registry(), &Cipher::with_key(2)).await;
    settle().await;
    talk.terminate("no key").await.unwrap();
    pass(Duration::from_secs(60)).await;
    assert_eq!(world.status("t").await.kind(), StatusKind::Terminated);
    assert_eq!(
        world.kinds("t", 1).await,
        ["OrchestrationStarted", "OrchestrationTerminated"]
    );
    stop(stranger).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_client_with_another_key_or_none_is_told_so() {
    let world = World::new();
    let codec = Cipher::with_key(1);
    let node = coded_node(&world, &registry(), &codec).await;
    let ours = coded_client(&world, &codec);
    let word = "word".to_owned();
    let instance = ours.start(LISTEN, "l", &word).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), word);
    stop(node).await;
    let theirs = coded_client(&world, &Cipher::with_key(2));
    let instance = theirs.instance(LISTEN, "l");
    let error = instance.wait().await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Unreadable { instance, .. } if *instance == "l"),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "what is stored of instance `l` cannot be read: another key: use the payload codec that \
         wrote it"
    );
    let page = instance.history(ExecutionId::FIRST, EventId::UNASSIGNED, 10);
    assert_eq!(page.await.unwrap_err(), error);
    // A list shows what it can.
    let filter = InstanceFilter::default();
    let listed = theirs.instances(&filter, None, 10).await.unwrap();
    assert_eq!(listed.instances.len(), 1);
    assert_eq!(listed.instances[0].status.kind(), StatusKind::Completed);
    let listed = ours.instances(&filter, None, 10).await.unwrap();
    let output = "\"word\"".into();
    assert_eq!(
        listed.instances[0].status,
        InstanceStatus::Completed { output }
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_stored_before_there_was_a_codec_is_read_as_it_is() {
    let world = World::new();
    let node = world.node(&journey::registry()).await;
    journey::start(&world.client(), "j").await;
    pass(Duration::from_millis(500)).await;
    stop(node).await;
    let codec = Cipher::with_key(1);
    let node = coded_node(&world, &journey::registry(), &codec).await;
    let journey = coded_client(&world, &codec).instance(JOURNEY, "j");
    assert_eq!(journey.wait().await.unwrap(), journey::RESULT);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_codec_that_cannot_encode_is_waited_for() {
    let world = World::new();
    let codec = Cipher::with_key(1);
    let node = coded_node(&world, &journey::registry(), &codec).await;
    let client = coded_client(&world, &codec);
    journey::start(&client, "j").await;
    settle().await;
    codec.is_away.store(true, Ordering::Relaxed);
    let error = client.start(JOURNEY, "k", &0).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the store is busy or away: a payload could not be encoded: the key service is away"
    );
    pass(Duration::from_secs(100)).await;
    assert_eq!(world.status("j").await.kind(), StatusKind::Running);
    codec.is_away.store(false, Ordering::Relaxed);
    let journey = client.instance(JOURNEY, "j");
    assert_eq!(journey.wait().await.unwrap(), journey::RESULT);
    stop(node).await;
    world.assert_done();
    assert_eq!(world.store.instance(&"k".into()).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_too_large_when_it_is_coded_is_refused_at_once() {
    let world = World::new();
    let codec = Cipher::with_key(1);
    let client = coded_client(&world, &codec);
    let largest = Limits::default().max_payload_bytes;
    let word = "x".repeat(largest * 9 / 10);
    let error = client.start(LISTEN, "l", &word).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Refused(failure) if failure.kind == FailureKind::LimitExceeded),
        "{error:?}"
    );
    let node = coded_node(&world, &registry(), &codec).await;
    let word = "x".repeat(largest * 7 / 10);
    let instance = client.start(LISTEN, "l", &word).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), word);
    stop(node).await;
}
