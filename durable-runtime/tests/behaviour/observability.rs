//! Metrics and spans.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use durable_core::provider::{Message, MessageBody, OutgoingMessage, Provider};
use durable_core::{EventId, ExecutionId};
use durable_runtime::{
    Activity, ActivityContext, EventName, Failure, Orchestration, OrchestrationContext, Registry,
    RetryPolicy, RuntimeOptions,
};

use crate::telemetry::{Metrics, Spans};
use crate::world::{EPOCH_MS, World, settle, stop};

const WORK: Activity<u32, u32> = Activity::new("work");
const FLOW: Orchestration<u32, u32> = Orchestration::new("flow");
const GO: EventName<u32> = EventName::new("go");

/// Calls `work` with one retry, then waits for an event.
fn registry() -> Registry {
    Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, n| async move {
            let retry = RetryPolicy::attempts(2);
            let n = ctx.activity(WORK, &n).retry(retry).await?;
            Ok::<_, Failure>(n + ctx.external_event(GO).await?)
        })
        .activity(WORK, |ctx: ActivityContext, n| async move {
            match ctx.attempt() {
                1 => Err(Failure::application("flaky", "again")),
                _ => Ok(n),
            }
        })
        .build()
        .unwrap()
}

fn options() -> RuntimeOptions {
    RuntimeOptions::default().verify_replay(false)
}

#[tokio::test(start_paused = true)]
async fn turns_commits_replays_and_activities_are_counted() {
    let metrics = Metrics::default();
    let _listening = metrics::set_default_local_recorder(&metrics);
    let world = World::new();
    let node = world.node_with(&registry(), options()).await;
    let flow = world.client().start(FLOW, "f", &1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(metrics.get("durable_turns_total"), 2);
    assert_eq!(metrics.get("durable_commits_total"), 2);
    assert_eq!(metrics.get("durable_commit_seconds"), 2);
    assert_eq!(metrics.get("durable_replays_total"), 0);
    assert_eq!(metrics.get("durable_activities_total{verdict=retry}"), 1);
    assert_eq!(
        metrics.get("durable_activities_total{verdict=completed}"),
        1
    );
    assert_eq!(metrics.get("durable_activity_seconds"), 2);
    assert_eq!(metrics.get("durable_work_wait_seconds"), 1);
    assert!(metrics.get("durable_turn_wait_seconds") >= 2);
    let hits = metrics.get("durable_cache_hits_total");
    stop(node).await;
    let node = world.node_with(&registry(), options()).await;
    flow.raise(GO, &1).await.unwrap();
    assert_eq!(flow.wait().await.unwrap(), 2);
    assert_eq!(metrics.get("durable_turns_total"), 3);
    assert_eq!(metrics.get("durable_replays_total"), 1);
    assert_eq!(metrics.get("durable_cache_hits_total"), hits);
    assert_eq!(metrics.get("durable_violations_total"), 0);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn cache_hits_rejected_commits_and_store_errors_are_counted() {
    let metrics = Metrics::default();
    let _listening = metrics::set_default_local_recorder(&metrics);
    let world = World::new();
    use crate::faulty::Fault;
    let store = world.counted();
    let provider = std::sync::Arc::new(store.clone());
    let node = world.node_on(provider, &registry(), options()).await;
    let flow = world.client().start(FLOW, "f", &1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let hits = metrics.get("durable_cache_hits_total");
    flow.raise("other", &1).await.unwrap();
    settle().await;
    assert_eq!(metrics.get("durable_cache_hits_total"), hits + 1);
    store.follow(|name, _| match name {
        "commit" => Fault::Slow(1_000, 0),
        _ => Fault::None,
    });
    flow.raise("other", &2).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    flow.suspend("lunch").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(metrics.get("durable_commits_rejected_total"), 1);
    assert_eq!(metrics.get("durable_store_errors_total"), 0);
    store.follow(|_, _| Fault::Unavailable);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(metrics.get("durable_store_errors_total") > 0);
    store.follow(|_, _| Fault::None);
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn faults_and_violations_are_counted() {
    let metrics = Metrics::default();
    let _listening = metrics::set_default_local_recorder(&metrics);
    let world = World::new();
    let node = world.node_with(&registry(), options()).await;
    let flow = world.client().start(FLOW, "f", &1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    stop(node).await;
    let changed = Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, n| async move {
            ctx.sleep(Duration::from_secs(1)).await?;
            Ok::<_, Failure>(n)
        })
        .orchestration("panics", |_: OrchestrationContext, n: u32| async move {
            assert_ne!(n, 1, "as planned");
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let node = world.node_with(&changed, options()).await;
    flow.raise(GO, &1).await.unwrap();
    let client = node.client();
    let _panics = client.start::<u32, u32>("panics", "p", &1).await.unwrap();
    settle().await;
    assert_eq!(metrics.get("durable_violations_total"), 1);
    assert_eq!(
        metrics.get("durable_faults_total{kind=determinism violation}"),
        1
    );
    assert_eq!(metrics.get("durable_faults_total{kind=panicked}"), 1);
    stop(node).await;
}

fn message(id: &str, body: MessageBody) -> OutgoingMessage {
    OutgoingMessage::new("f".into(), Message::new(id.into(), body))
}

#[tokio::test(start_paused = true)]
async fn messages_that_mean_nothing_are_dropped_counted_and_acknowledged() {
    let metrics = Metrics::default();
    let _listening = metrics::set_default_local_recorder(&metrics);
    let world = World::new();
    let node = world.node_with(&registry(), options()).await;
    let flow = world.client().start(FLOW, "f", &1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = world.kinds("f", 1).await;
    let result = |execution: u64, source: u64| MessageBody::ActivityFinished {
        execution_id: ExecutionId::new(execution),
        source_event_id: EventId::new(source),
        result: Ok("9".into()),
    };
    let fired = |source: u64| MessageBody::TimerFired {
        execution_id: ExecutionId::FIRST,
        source_event_id: EventId::new(source),
        fire_at_ms: EPOCH_MS,
    };
    let child = MessageBody::SubOrchestrationFinished {
        execution_id: ExecutionId::FIRST,
        source_event_id: EventId::new(2),
        result: Ok("9".into()),
    };
    let promise = MessageBody::PromiseSettled {
        execution_id: ExecutionId::FIRST,
        number: 3,
        resolution: Ok("9".into()),
    };
    let messages = vec![
        message("other execution", result(2, 2)),
        message("completed before", result(1, 2)),
        message("no such event", result(1, 99)),
        message("of another kind", fired(2)),
        message("no such timer", fired(50)),
        message("a child that is an activity", child),
        message("no such promise", promise),
    ];
    for message in messages {
        let outcome = world.store.send(message).await.unwrap();
        assert_eq!(outcome, durable_core::provider::SendOutcome::Accepted);
    }
    settle().await;
    assert_eq!(
        world.kinds("f", 1).await,
        before,
        "none of them is recorded"
    );
    world.assert_idle();
    let dropped = |reason: &str| {
        metrics.get(&format!(
            "durable_messages_dropped_total{{reason={reason}}}"
        ))
    };
    assert_eq!(dropped("other_execution"), 1);
    assert_eq!(dropped("not_open"), 5);
    assert_eq!(dropped("promise_not_open"), 1);
    flow.raise_with_id("twice", "other", &1).await.unwrap();
    settle().await;
    flow.raise_with_id("twice", "other", &1).await.unwrap();
    settle().await;
    assert_eq!(dropped("duplicate_message"), 1);
    flow.raise(GO, &1).await.unwrap();
    assert_eq!(flow.wait().await.unwrap(), 2);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn every_turn_and_every_attempt_has_a_span_that_says_whose_it_is() {
    let spans = Spans::default();
    let _listening = spans.listen();
    let world = World::new();
    let node = world.node_with(&registry(), options()).await;
    let flow = world.client().start(FLOW, "f", &1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    flow.raise(GO, &1).await.unwrap();
    assert_eq!(flow.wait().await.unwrap(), 2);
    stop(node).await;
    let turns = spans.named("turn");
    let first: Vec<_> = turns
        .iter()
        .map(|turn| turn.field("event").unwrap())
        .collect();
    let last: Vec<_> = turns
        .iter()
        .map(|turn| turn.field("last_event").unwrap())
        .collect();
    assert_eq!(first, ["1", "3", "5"]);
    assert_eq!(last, ["2", "4", "6"]);
    for turn in &turns {
        assert_eq!(turn.field("instance"), Some("f"));
        assert_eq!(turn.field("execution"), Some("1"));
    }
    let attempts = spans.named("activity");
    assert_eq!(attempts.len(), 2);
    for (attempt, number) in attempts.iter().zip(["1", "2"]) {
        assert_eq!(attempt.field("name"), Some("work"));
        assert_eq!(attempt.field("instance"), Some("f"));
        assert_eq!(attempt.field("execution"), Some("1"));
        assert_eq!(attempt.field("event"), Some("2"));
        assert_eq!(attempt.field("command"), Some("Activity(0)"));
        assert_eq!(attempt.field("attempt"), Some(number));
    }
    let recorded = spans.named("recorded");
    let commands: Vec<_> = recorded
        .iter()
        .map(|event| event.field("command").unwrap())
        .collect();
    assert_eq!(commands, ["Activity(0)", "External(0)"]);
}

#[tokio::test(start_paused = true)]
async fn an_activity_that_another_node_scheduled_says_which_call_it_is() {
    let spans = Spans::default();
    let _listening = spans.listen();
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(FLOW, |ctx: OrchestrationContext, n| async move {
            let first = ctx.activity(WORK, &n).await?;
            ctx.sleep(Duration::from_secs(1)).await?;
            let (second, third) = (ctx.activity(WORK, &2), ctx.activity(WORK, &3));
            let (second, third) = futures::try_join!(second, third)?;
            Ok::<_, Failure>(first + second + third)
        })
        .activity(
            WORK,
            |_: ActivityContext, n| async move { Ok::<_, Failure>(n) },
        )
        .build()
        .unwrap();
    let only_turns = options().max_activities(0);
    let only_activities = options().max_turns(0);
    let scheduler = world.node_with(&registry, only_turns).await;
    let worker = world.node_with(&registry, only_activities).await;
    let flow = world.client().start(FLOW, "f", &1).await.unwrap();
    assert_eq!(flow.wait().await.unwrap(), 6);
    stop(scheduler).await;
    stop(worker).await;
    world.assert_done();
    let mut calls: Vec<_> = spans
        .named("activity")
        .iter()
        .map(|span| {
            let field = |name| span.field(name).unwrap().to_owned();
            (field("event"), field("command"))
        })
        .collect();
    calls.sort();
    let expected = [
        ("2", "Activity(0)"),
        ("6", "Activity(1)"),
        ("7", "Activity(2)"),
    ];
    assert_eq!(
        calls,
        expected.map(|(event, command)| (event.into(), command.into()))
    );
}

/// The names in these lines that begin like a metric of this crate.
fn metric_names<'a>(lines: impl Iterator<Item = &'a str>, quote: char) -> BTreeSet<String> {
    lines
        .flat_map(|line| line.split(quote))
        .filter(|part| part.starts_with("durable_") && !part.contains([' ', ':', '{']))
        .map(ToOwned::to_owned)
        .collect()
}

fn source_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => source_files(&path),
            false => vec![path],
        })
        .collect()
}

#[test]
fn the_documentation_lists_every_metric_and_no_other() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let documentation = std::fs::read_to_string(sources.join("lib.rs")).unwrap();
    let table = documentation
        .lines()
        .filter(|line| line.starts_with("//! | `durable_"));
    let listed = metric_names(table, '`');
    let mut used = BTreeSet::new();
    for file in source_files(&sources) {
        let code = std::fs::read_to_string(file).unwrap();
        let lines = code.lines().filter(|line| !line.contains("//"));
        used.append(&mut metric_names(lines, '"'));
    }
    assert_eq!(listed, used);
    assert!(listed.len() > 10);
}
