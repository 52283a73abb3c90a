//! Streams: pushed by orchestrations, emitted by activities, read by offset.

use std::time::Duration;

use durable_core::Limits;
use durable_core::provider::{Provider, StreamSource};
use durable_runtime::{
    Activity, ActivityContext, ClientError, EventName, EventStream, Failure, FailureKind,
    InstanceHandle, Orchestration, OrchestrationContext, Registry, RetryPolicy, RuntimeOptions,
    StreamEntry,
};
use futures::{FutureExt, StreamExt, TryStreamExt};

use crate::world::{World, settle, stop};

const SPEAK: Orchestration<u32, String> = Orchestration::new("speak");
const ANSWER: Activity<String, u32> = Activity::new("answer");
const SAY: EventName<String> = EventName::new("say");
const TOKENS: EventStream<String> = EventStream::new("tokens");

/// Pushes what it is told, each in a step of its own; an empty text ends it.
async fn speak(ctx: OrchestrationContext, round: u32) -> Result<String, Failure> {
    ctx.stream(TOKENS).push(&format!("round {round}"))?;
    loop {
        let said = ctx.external_event(SAY).await?;
        match said.as_str() {
            "" => return Ok("done".into()),
            "again" => return ctx.continue_as_new(&(round + 1)).await,
            // Two in one step, the second after a recorded side effect.
            "run" => {
                ctx.stream(TOKENS).push(&"before".to_owned())?;
                let ran = ctx.run("run", async { Ok::<_, Failure>("after".to_owned()) });
                ctx.stream(TOKENS).push(&ran.await?)?;
            }
            "call" => {
                let retry = RetryPolicy::attempts(3).first_backoff(Duration::from_secs(1));
                let call = ctx.activity(ANSWER, &"a b c".to_owned()).retry(retry);
                let count = call.await?;
                ctx.stream(TOKENS).push(&format!("{count} words"))?;
            }
            _ => ctx.stream(TOKENS).push(&said)?,
        }
    }
}

/// Emits word by word; the first attempt fails after two.
async fn answer(ctx: ActivityContext, question: String) -> Result<u32, Failure> {
    let mut count = 0;
    for word in question.split(' ') {
        if ctx.attempt() == 1 && count == 2 {
            return Err(Failure::application("flaky", "it fails first"));
        }
        ctx.emit(TOKENS, &word.to_owned()).await?;
        count += 1;
    }
    Ok(count)
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(SPEAK, speak)
        .activity(ANSWER, answer)
        .build()
        .unwrap()
}

async fn say(instance: &InstanceHandle<String>, word: &str) {
    instance.raise(SAY, &word.to_owned()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
}

fn values(entries: &[StreamEntry<String>]) -> Vec<(u64, &str)> {
    let values = entries.iter();
    values
        .map(|entry| (entry.offset, entry.value.as_str()))
        .collect()
}

async fn all(instance: &InstanceHandle<String>) -> Vec<StreamEntry<String>> {
    let mut entries = Vec::new();
    let mut reader = instance.stream(TOKENS);
    while let Some(Some(entry)) = reader.next().now_or_never() {
        entries.push(entry.unwrap());
    }
    entries
}

#[tokio::test(start_paused = true)]
async fn what_is_pushed_is_there_once_whatever_is_replayed() {
    let world = World::new();
    let speaker = world.client().start(SPEAK, "s", &0).await.unwrap();
    // A new node for every step: each replays the history so far.
    for word in ["a", "b", "run", "again", "c"] {
        let node = world.node(&registry()).await;
        say(&speaker, word).await;
        stop(node).await;
    }
    let entries = all(&speaker).await;
    let expected = [
        (0, "round 0"),
        (1, "a"),
        (2, "b"),
        (3, "before"),
        (4, "after"),
        (5, "round 1"),
        (6, "c"),
    ];
    assert_eq!(values(&entries), expected);
    let is_own = |entry: &StreamEntry<String>| entry.source == StreamSource::Orchestration;
    assert!(entries.iter().all(is_own));
    // Nothing of it is in the history.
    let kinds = world.kinds("s", 2).await;
    let expected = [
        "OrchestrationStarted",
        "ExternalSubscribed",
        "ExternalEvent",
        "ExternalSubscribed",
    ];
    assert_eq!(kinds, expected);
    let node = world.node(&registry()).await;
    say(&speaker, "").await;
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_activity_emits_with_its_attempt_and_before_its_result() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let speaker = world.client().start(SPEAK, "s", &0).await.unwrap();
    say(&speaker, "call").await;
    let entries = all(&speaker).await;
    let expected = [
        (0, "round 0"),
        (1, "a"),
        (2, "b"),
        (3, "a"),
        (4, "b"),
        (5, "c"),
        (6, "3 words"),
    ];
    assert_eq!(values(&entries), expected);
    let sources: Vec<_> = entries[1..6]
        .iter()
        .map(|entry| match entry.source {
            StreamSource::Activity {
                call,
                attempt,
                number,
            } => (call.event_id.get(), attempt, number),
            StreamSource::Orchestration => panic!("{entry:?}"),
        })
        .collect();
    assert_eq!(
        sources,
        [(4, 1, 0), (4, 1, 1), (4, 2, 0), (4, 2, 1), (4, 2, 2)]
    );
    say(&speaker, "").await;
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_reader_follows_goes_on_from_an_offset_and_ends_with_the_instance() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let speaker = world.client().start(SPEAK, "s", &0).await.unwrap();
    let mut reader = speaker.stream(TOKENS);
    let first = reader.try_next().await.unwrap().unwrap();
    assert_eq!((first.offset, first.value.as_str()), (0, "round 0"));
    assert!(reader.next().now_or_never().is_none());
    say(&speaker, "a").await;
    say(&speaker, "b").await;
    assert_eq!(reader.try_next().await.unwrap().unwrap().value, "a");
    // Another reader goes on where this one was.
    drop(reader);
    let mut reader = speaker.stream(TOKENS).from_offset(2);
    assert_eq!(reader.try_next().await.unwrap().unwrap().value, "b");
    let rest = tokio::spawn(reader.try_collect::<Vec<_>>());
    settle().await;
    say(&speaker, "c").await;
    say(&speaker, "").await;
    stop(node).await;
    assert_eq!(values(&rest.await.unwrap().unwrap()), [(3, "c")]);
    // After the end, without a node.
    let entries: Vec<_> = speaker.stream(TOKENS).try_collect().await.unwrap();
    assert_eq!(entries.len(), 4);
    let beyond: Vec<_> = speaker
        .stream(TOKENS)
        .from_offset(17)
        .try_collect()
        .await
        .unwrap();
    assert_eq!(beyond, []);
    let bounds = speaker.streams().await.unwrap();
    assert_eq!(bounds.len(), 1);
    assert_eq!((bounds[0].0.as_str(), bounds[0].1.end), ("tokens", 4));
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_reader_does_not_poll() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let speaker = world.client().start(SPEAK, "s", &0).await.unwrap();
    settle().await;
    let store = std::sync::Arc::new(world.counted());
    let client = world.client_on(store.clone());
    let follower = client.instance::<u32, String>("speak", "s");
    let mut reader = follower.stream(TOKENS).from_offset(1);
    let waiting = tokio::spawn(async move { reader.try_next().await });
    settle().await;
    let before = store.calls("stream");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(store.calls("stream"), before, "an hour without a look");
    say(&speaker, "a").await;
    assert_eq!(waiting.await.unwrap().unwrap().unwrap().value, "a");
    say(&speaker, "").await;
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_is_too_late_is_told_from_where_it_goes_on() {
    let limits = Limits::new().max_stream_items(2);
    let clock = durable_testkit::TokioClock::starting_at(crate::world::EPOCH_MS);
    let options = durable_testkit::MemoryOptions::default()
        .limits(limits)
        .clock(clock);
    let store = std::sync::Arc::new(durable_testkit::MemoryProvider::with_options(options));
    let world = World { store };
    let node = world.node(&registry()).await;
    let speaker = world.client().start(SPEAK, "s", &0).await.unwrap();
    for word in ["a", "b", "c"] {
        say(&speaker, word).await;
    }
    let mut reader = speaker.stream(TOKENS).from_offset(1);
    let trimmed = ClientError::StreamTrimmed {
        instance: "s".into(),
        stream: "tokens".into(),
        requested: 1,
        first: 2,
    };
    assert_eq!(reader.try_next().await, Err(trimmed));
    let next = reader.try_next().await.unwrap().unwrap();
    assert_eq!((next.offset, next.value.as_str()), (2, "b"));
    // Without an offset it begins with what there is.
    assert_eq!(values(&all(&speaker).await), [(2, "b"), (3, "c")]);
    say(&speaker, "").await;
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn streams_of_no_instance_and_items_of_another_type_are_typed_errors() {
    let world = World::new();
    let nothing = world.client().instance::<u32, String>("speak", "none");
    let not_found = ClientError::NotFound {
        instance: "none".into(),
    };
    let mut reader = nothing.stream(TOKENS);
    assert_eq!(reader.try_next().await, Err(not_found));
    assert_eq!(reader.try_next().await, Ok(None));

    let node = world.node(&registry()).await;
    let speaker = world.client().start(SPEAK, "s", &0).await.unwrap();
    say(&speaker, "7").await;
    let wrong: EventStream<Vec<u8>> = EventStream::new("tokens");
    let mut reader = speaker.stream(wrong);
    for _ in 0..2 {
        let Err(ClientError::InvalidPayload(failure)) = reader.try_next().await else {
            panic!("it is a text");
        };
        assert_eq!(failure.kind, FailureKind::InvalidPayload);
    }
    say(&speaker, "").await;
    assert_eq!(reader.try_next().await, Ok(None));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn names_and_items_are_limited_for_orchestrations_and_activities() {
    const LIMITED: Orchestration<(), Vec<String>> = Orchestration::new("limited");
    const EMIT: Activity<(), Vec<String>> = Activity::new("emit");
    fn refusal(result: Result<(), Failure>) -> String {
        let failure = result.unwrap_err();
        assert_eq!(failure.kind, FailureKind::LimitExceeded);
        failure.message
    }
    let registry = Registry::builder()
        .orchestration(LIMITED, |ctx: OrchestrationContext, ()| async move {
            let mut refused = vec![
                refusal(ctx.stream("").push(&1)),
                refusal(ctx.stream("x").push(&"x".repeat(2_000))),
            ];
            refused.extend(ctx.activity(EMIT, &()).await?);
            Ok::<_, Failure>(refused)
        })
        .activity(EMIT, |ctx: ActivityContext, ()| async move {
            let empty = refusal(ctx.emit("", &1).await);
            let large = refusal(ctx.emit("x", &"x".repeat(2_000)).await);
            Ok::<_, Failure>(vec![empty, large])
        })
        .build()
        .unwrap();
    let world = World::new();
    let limits = Limits::new().max_payload_bytes(1_000);
    let options = RuntimeOptions::default().limits(limits);
    let node = world.node_with(&registry, options).await;
    let limited = world.client().start(LIMITED, "l", &()).await.unwrap();
    let refused = limited.wait().await.unwrap();
    assert_eq!(refused.len(), 4);
    assert_eq!(refused[..2], refused[2..]);
    assert_eq!(refused[0], "stream ``: the name of the stream is empty");
    assert!(
        refused[1].starts_with("stream `x`: the item has"),
        "{}",
        refused[1]
    );
    let streams = world.store.streams(&"l".into(), None, 10).await.unwrap();
    assert_eq!(streams.streams, []);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_activity_that_lost_its_work_is_told_and_adds_nothing() {
    const FOREVER: Orchestration<(), ()> = Orchestration::new("forever");
    const EMIT: Activity<(), u32> = Activity::new("emit for ever");
    let (told, mut was_told) = tokio::sync::mpsc::unbounded_channel();
    let registry = Registry::builder()
        .orchestration(FOREVER, |ctx: OrchestrationContext, ()| async move {
            tokio::select! {
                count = ctx.activity(EMIT, &()) => count.map(drop),
                done = ctx.external_event("stop") => done,
            }
        })
        .activity(EMIT, move |ctx: ActivityContext, ()| {
            let told = told.clone();
            async move {
                for number in 0_u32.. {
                    if let Err(failure) = ctx.emit("numbers", &number).await {
                        told.send(failure.kind.clone()).unwrap();
                        return Err(failure);
                    }
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                Ok(0)
            }
        })
        .build()
        .unwrap();
    let world = World::new();
    let node = world.node(&registry).await;
    let forever = world.client().start(FOREVER, "f", &()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    forever.raise("stop", &()).await.unwrap();
    forever.wait().await.unwrap();
    let count = forever.stream_page("numbers", 0, 100).await.unwrap();
    assert_eq!(was_told.recv().await, Some(FailureKind::Cancelled));
    let after = forever.stream_page("numbers", 0, 100).await.unwrap();
    assert_eq!(after, count, "nothing came after the end");
    assert_eq!(after.items.len(), 4);
    stop(node).await;
    world.assert_done();
}
