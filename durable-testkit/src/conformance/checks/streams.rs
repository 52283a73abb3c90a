//! Streams of instances.

use durable_core::provider::{
    ClaimedWork, CommitOutcome, EmitOutcome, EmitRequest, IdReuse, ProviderError, StreamBounds,
    StreamItem, StreamPush, StreamSource, TurnCommit, WakeSeq, WakeTopic,
};
use durable_core::{InstanceId, Name};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure, ensure_eq};
use super::super::node::{TestNode, retry};
use super::super::waiting::{begin_wait_of, is_told};
use crate::message::start_message;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(AtomicCommit, pushes_are_there_with_their_commit_and_once),
    check!(
        AtomicCommit,
        pushes_of_a_commit_that_is_not_applied_add_nothing
    ),
    check!(Work, emitted_items_say_where_they_come_from),
    check!(Work, emitted_items_are_added_once_by_their_numbers),
    check!(Work, an_emit_without_the_lease_adds_nothing),
    check!(Work, an_emit_of_cancelled_work_adds_nothing),
    check!(Paging, a_stream_is_read_by_offset),
    check!(Paging, streams_are_listed_in_pages),
    check!(Lifecycle, streams_are_kept_apart_by_name_and_instance),
    check!(Lifecycle, streams_go_with_a_purge_and_stay_otherwise),
    check!(Limits, a_stream_keeps_its_latest_items),
    check!(Limits, items_that_break_the_limits_are_refused),
    check!(Finding, new_items_and_a_stop_end_a_wait_for_streams),
    check!(Finding, another_handle_is_told_of_items, needs OpenAgain),
    check!(Durability, streams_survive_a_crash, needs OpenAgain),
];

fn item(stream: &str, value: &str) -> StreamPush {
    StreamPush {
        stream: stream.into(),
        value: value.into(),
    }
}

/// The items of a stream from this offset on.
async fn items(env: &Env, id: &str, stream: &str, from: u64) -> CheckResult<Vec<StreamItem>> {
    let (id, stream) = (id.into(), stream.into());
    let page = env.provider().stream(&id, &stream, from, 10_000).await?;
    Ok(page.items)
}

/// Offsets and values.
fn values(items: &[StreamItem]) -> Vec<(u64, &str)> {
    let values = items.iter().map(|item| (item.offset, item.value.as_str()));
    values.collect()
}

async fn next_turn(
    env: &Env,
    node: &TestNode<'_>,
    turn: &TurnCommit,
    build: impl FnOnce(TurnBuilder) -> TurnBuilder,
) -> CheckResult<TurnCommit> {
    let next = build(TurnBuilder::after(turn, env.now_ms()).keeping_the_lease()).build();
    node.commit_done(next.clone()).await?;
    Ok(next)
}

/// An activity of `a` that the node holds, after a turn that keeps the lease.
async fn held_work(node: &TestNode<'_>) -> CheckResult<(TurnCommit, ClaimedWork)> {
    let (turn, _) = node
        .begin("a", |turn| turn.activity("charge").keeping_the_lease())
        .await?;
    Ok((turn, node.take_work().await?))
}

async fn emit(
    node: &TestNode<'_>,
    work: &ClaimedWork,
    first_number: u64,
    emitted: &[(&str, &str)],
) -> Result<EmitOutcome, ProviderError> {
    let emitted = emitted.iter().map(|(stream, value)| item(stream, value));
    let mut request = EmitRequest::new(work.lease.clone(), emitted.collect());
    request.attempt = work.delivery();
    request.first_number = first_number;
    node.provider.emit(request).await
}

async fn pushes_are_there_with_their_commit_and_once(env: Env) -> CheckResult {
    let node = env.node().await?;
    let nothing = items(&env, "a", "x", 0).await?;
    ensure_eq("without an instance", nothing, Vec::new())?;
    let (turn, _) = node
        .begin("a", |turn| turn.push("x", "1").keeping_the_lease())
        .await?;
    let before = env.now_ms();
    let next = TurnBuilder::after(&turn, env.now_ms()).keeping_the_lease();
    let next = next.push("x", "2").push("y", "\"a\"").push("x", "3");
    let next = next.activity("charge").build();
    node.commit_done(next.clone()).await?;
    let found = items(&env, "a", "x", 0).await?;
    ensure_eq("x", values(&found), vec![(0, "1"), (1, "2"), (2, "3")])?;
    ensure_eq("the source", found[2].source, StreamSource::Orchestration)?;
    let is_timely = (before..=env.now_ms()).contains(&found[2].added_at_ms);
    ensure(is_timely, "the time", "that of the store", &found[2])?;
    let repeated = node.commit(next).await?;
    let is_known = matches!(repeated, CommitOutcome::AlreadyDone(_));
    ensure_eq("the same commit again", is_known, true)?;
    let found = items(&env, "a", "x", 0).await?;
    ensure_eq("x, again", found.len(), 3)?;
    let found = items(&env, "a", "y", 0).await?;
    ensure_eq("y", values(&found), vec![(0, "\"a\"")])
}

async fn pushes_of_a_commit_that_is_not_applied_add_nothing(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node
        .begin("a", |turn| turn.push("x", "1").keeping_the_lease())
        .await?;
    let next = TurnBuilder::after(&turn, env.now_ms())
        .push("x", "2")
        .build();
    let mut behind = next.clone();
    behind.execution_id = behind.execution_id.next();
    let outcome = node.commit(behind).await?;
    let is_conflict = matches!(outcome, CommitOutcome::Conflict { .. });
    ensure_eq("a commit from another tail", is_conflict, true)?;
    let mut fenced = next.clone();
    fenced.lease.token += 1_000_000;
    let outcome = node.commit(fenced).await?;
    ensure_eq("a commit without the lease", outcome, CommitOutcome::Fenced)?;
    let found = items(&env, "a", "x", 0).await?;
    ensure_eq("x", values(&found), vec![(0, "1")])?;
    node.commit_done(next).await?;
    let found = items(&env, "a", "x", 0).await?;
    ensure_eq("x", values(&found), vec![(0, "1"), (1, "2")])
}

async fn emitted_items_say_where_they_come_from(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, work) = held_work(&node).await?;
    let outcome = emit(&node, &work, 0, &[("x", "1"), ("y", "2"), ("x", "3")]).await?;
    ensure_eq("an emit", outcome, EmitOutcome::Added)?;
    next_turn(&env, &node, &turn, |turn| turn.push("x", "4")).await?;
    node.settle_held(&work, retry(0)).await?;
    let again = node.take_work().await?;
    let outcome = emit(&node, &again, 0, &[("x", "1")]).await?;
    ensure_eq("an emit of the next attempt", outcome, EmitOutcome::Added)?;
    let found = items(&env, "a", "x", 0).await?;
    let expected = vec![(0, "1"), (1, "3"), (2, "4"), (3, "1")];
    ensure_eq("x", values(&found), expected)?;
    let call = work.lease.key.source();
    let activity = |attempt, number| StreamSource::Activity {
        call,
        attempt,
        number,
    };
    let sources: Vec<_> = found.iter().map(|item| item.source).collect();
    let expected = vec![
        activity(1, 0),
        activity(1, 2),
        StreamSource::Orchestration,
        activity(2, 0),
    ];
    ensure_eq("the sources", sources, expected)?;
    // What was emitted leaves the work as it is.
    let open = env.provider().open_work(&"a".into(), None, 10).await?;
    ensure_eq("the open work", open.activities.len(), 1)
}

async fn emitted_items_are_added_once_by_their_numbers(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (_, work) = held_work(&node).await?;
    let calls: [(u64, &[(&str, &str)]); 5] = [
        (0, &[("x", "0"), ("x", "1")]),
        (0, &[("x", "0"), ("x", "1")]),
        (1, &[("x", "1"), ("x", "2")]),
        (3, &[]),
        (3, &[("x", "3")]),
    ];
    for (first_number, emitted) in calls {
        let outcome = emit(&node, &work, first_number, emitted).await?;
        ensure_eq("an emit", outcome, EmitOutcome::Added)?;
    }
    let found = items(&env, "a", "x", 0).await?;
    let expected = vec![(0, "0"), (1, "1"), (2, "2"), (3, "3")];
    ensure_eq("x", values(&found), expected)
}

async fn an_emit_without_the_lease_adds_nothing(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (_, work) = held_work(&node).await?;
    node.settle_held(&work, retry(0)).await?;
    let lost = emit(&node, &work, 0, &[("x", "1")]).await?;
    ensure_eq("of free work", lost, EmitOutcome::LeaseLost)?;
    let again = node.take_work().await?;
    let lost = emit(&node, &work, 0, &[("x", "1")]).await?;
    ensure_eq("under the lease before", lost, EmitOutcome::LeaseLost)?;
    let mut forged = again.clone();
    forged.lease.token += 1_000_000;
    let lost = emit(&node, &forged, 0, &[("x", "1")]).await?;
    ensure_eq("under no lease", lost, EmitOutcome::LeaseLost)?;
    forged.lease.key.instance = "none".into();
    let lost = emit(&node, &forged, 0, &[("x", "1")]).await?;
    ensure_eq("of no instance", lost, EmitOutcome::LeaseLost)?;
    ensure_eq("x", items(&env, "a", "x", 0).await?, Vec::new())
}

async fn an_emit_of_cancelled_work_adds_nothing(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, work) = held_work(&node).await?;
    emit(&node, &work, 0, &[("x", "1")]).await.map(drop)?;
    let key = work.lease.key.clone();
    next_turn(&env, &node, &turn, |turn| turn.cancelling_work(&key)).await?;
    let lost = emit(&node, &work, 1, &[("x", "2")]).await?;
    ensure_eq("of cancelled work", lost, EmitOutcome::LeaseLost)?;
    let found = items(&env, "a", "x", 0).await?;
    ensure_eq("x", values(&found), vec![(0, "1")])
}

async fn a_stream_is_read_by_offset(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| {
        (0..7).fold(turn, |turn, number| turn.push("x", number.to_string()))
    })
    .await?;
    let (id, name) = (InstanceId::from("a"), Name::from("x"));
    let bounds = StreamBounds {
        first: 0,
        end: 7,
        bytes: 7,
    };
    for (from, max, expected) in [
        (0, 100, 0..7),
        (0, 3, 0..3),
        (3, 3, 3..6),
        (6, 3, 6..7),
        (7, 3, 7..7),
        (1_000_000, 3, 7..7),
        (u64::MAX, 3, 7..7),
        (2, 0, 2..2),
    ] {
        let page = env.provider().stream(&id, &name, from, max).await?;
        ensure_eq("the bounds", page.bounds, bounds)?;
        let offsets: Vec<u64> = page.items.iter().map(|item| item.offset).collect();
        ensure_eq("the offsets", offsets, expected.collect())?;
    }
    Ok(())
}

async fn streams_are_listed_in_pages(env: Env) -> CheckResult {
    let node = env.node().await?;
    let expected = ["a", "b", "c", "d", "e"];
    node.begin("a", |turn| {
        let reversed = expected.iter().rev();
        reversed.fold(turn, |turn, name| turn.push(*name, "12"))
    })
    .await?;
    let id = InstanceId::from("a");
    for page_size in [1, 2, 5, 6] {
        let mut listed: Vec<String> = Vec::new();
        let mut after: Option<Name> = None;
        for _ in 0..10 {
            let page = env
                .provider()
                .streams(&id, after.as_ref(), page_size)
                .await?;
            for (name, bounds) in &page.streams {
                ensure_eq("the bytes", (bounds.end, bounds.bytes), (1, 2))?;
                listed.push(name.to_string());
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        ensure_eq("the streams", listed, expected.map(String::from).to_vec())?;
    }
    Ok(())
}

async fn streams_are_kept_apart_by_name_and_instance(env: Env) -> CheckResult {
    const AWKWARD: [&str; 8] = ["A", "a", "a:b", "a\u{0}", "ü", "*", " ", "1:a"];
    let node = env.node().await?;
    for id in ["a", "A", "a:a"] {
        node.begin(id, |turn| {
            AWKWARD.iter().fold(turn, |turn, name| {
                turn.push(*name, format!("\"{id} {}\"", name.escape_debug()))
            })
        })
        .await?;
    }
    for id in ["a", "A", "a:a"] {
        for name in AWKWARD {
            let found = items(&env, id, name, 0).await?;
            let expected = format!("\"{id} {}\"", name.escape_debug());
            ensure_eq(name, values(&found), vec![(0, expected.as_str())])?;
        }
    }
    Ok(())
}

async fn streams_go_with_a_purge_and_stay_otherwise(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node
        .begin("a", |turn| turn.push("x", "1").keeping_the_lease())
        .await?;
    let turn = next_turn(&env, &node, &turn, |turn| {
        turn.push("x", "2").continued_as_new()
    })
    .await?;
    next_turn(&env, &node, &turn, |turn| {
        turn.push("x", "3").completed("1")
    })
    .await?;
    let again = env.start_with("a", start_message("again"), IdReuse::RestartEnded);
    let _ = again.await?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).push("x", "4").completed("1");
    node.commit_done(turn.build()).await?;
    let found = items(&env, "a", "x", 0).await?;
    let expected = vec![(0, "1"), (1, "2"), (2, "3"), (3, "4")];
    ensure_eq("after a start anew", values(&found), expected)?;
    env.purge(10).await?;
    let found = items(&env, "a", "x", 0).await?;
    ensure_eq("after a purge", found, Vec::new())?;
    node.begin("a", |turn| turn.push("x", "5")).await?;
    let found = items(&env, "a", "x", 0).await?;
    ensure_eq("of the next instance", values(&found), vec![(0, "5")])
}

async fn a_stream_keeps_its_latest_items(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (max_items, max_bytes) = (env.limits.max_stream_items, env.limits.max_stream_bytes);
    let (turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let turn = next_turn(&env, &node, &turn, |turn| {
        (0..max_items + 5).fold(turn, |turn, number| turn.push("x", number.to_string()))
    })
    .await?;
    let page = env
        .provider()
        .stream(&"a".into(), &"x".into(), 0, 3)
        .await?;
    let bounds = (page.bounds.first, page.bounds.end);
    ensure_eq("the bounds", bounds, (5, max_items + 5))?;
    ensure_eq(
        "the first",
        values(&page.items),
        vec![(5, "5"), (6, "6"), (7, "7")],
    )?;
    // Items that are large together: the last one is always there.
    let large = "x".repeat(env.limits.max_payload_bytes.min(1 << 20));
    let fitting = max_bytes / large.len() as u64;
    let mut turn = turn;
    for _ in 0..fitting + 2 {
        turn = next_turn(&env, &node, &turn, |turn| turn.push("y", large.as_str())).await?;
    }
    let page = env
        .provider()
        .stream(&"a".into(), &"y".into(), 0, 1)
        .await?;
    let end = fitting + 2;
    let expected = StreamBounds {
        first: end - fitting.max(1),
        end,
        bytes: fitting.max(1) * large.len() as u64,
    };
    ensure_eq("the bounds of large items", page.bounds, expected)
}

async fn items_that_break_the_limits_are_refused(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, work) = held_work(&node).await?;
    let large = "x".repeat(env.limits.max_payload_bytes + 1);
    for (stream, value) in [("", "1"), ("x", large.as_str())] {
        let emitted = emit(&node, &work, 0, &[("x", "1"), (stream, value)]).await;
        let is_refused = matches!(emitted, Err(ProviderError::Refused(_)));
        ensure_eq("an emit is refused", is_refused, true)?;
        let next = TurnBuilder::after(&turn, env.now_ms()).push("x", "1");
        let committed = node.commit(next.push(stream, value).build()).await;
        let is_refused = matches!(committed, Err(ProviderError::Refused(_)));
        ensure_eq("a turn is refused", is_refused, true)?;
    }
    ensure_eq("x", items(&env, "a", "x", 0).await?, Vec::new())
}

async fn new_items_and_a_stop_end_a_wait_for_streams(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, work) = held_work(&node).await?;
    let topic = WakeTopic::Streams("a".into());
    let waiting = begin_wait_of(env.provider(), None, topic.clone(), WakeSeq::default()).await;
    let turn = next_turn(&env, &node, &turn, |turn| turn.push("x", "1")).await?;
    let seen = is_told(&env, "a client that waits for items: pushed", waiting).await?;
    let waiting = begin_wait_of(env.provider(), None, topic.clone(), seen).await;
    emit(&node, &work, 0, &[("x", "2")]).await.map(drop)?;
    let seen = is_told(&env, "a client that waits for items: emitted", waiting).await?;
    let waiting = begin_wait_of(env.provider(), None, topic, seen).await;
    next_turn(&env, &node, &turn, |turn| turn.completed("1")).await?;
    is_told(&env, "a client that waits for items: the end", waiting).await?;
    Ok(())
}

async fn another_handle_is_told_of_items(env: Env) -> CheckResult {
    let here = env.node().await?;
    let there = env.second_handle().await;
    let (turn, _) = here.begin("a", TurnBuilder::keeping_the_lease).await?;
    let watching = tokio::spawn(async move {
        let (id, name) = (InstanceId::from("a"), Name::from("x"));
        let (topic, mut seen) = (WakeTopic::Streams(id.clone()), WakeSeq::default());
        loop {
            if !there.stream(&id, &name, 0, 1).await?.items.is_empty() {
                return CheckResult::Ok(());
            }
            seen = there.wait(None, &topic, seen).await?;
        }
    });
    next_turn(&env, &here, &turn, |turn| turn.push("x", "1")).await?;
    let what = "a client on another handle, of an item";
    let watched = env.within_timeout(what, watching).await?;
    watched.map_err(|error| CheckFailure::new(what, "an answer", error.to_string()))?
}

async fn streams_survive_a_crash(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (_, work) = held_work(&node).await?;
    emit(&node, &work, 0, &[("x", "1"), ("x", "2")])
        .await
        .map(drop)?;
    drop(node);
    let before = items(&env, "a", "x", 0).await?;
    let env = env.crash().await;
    let after = items(&env, "a", "x", 0).await?;
    ensure_eq("the items", after, before)
}
