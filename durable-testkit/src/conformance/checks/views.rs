//! Views of instances.

use durable_core::provider::{
    CommitOutcome, IdReuse, SourceEvent, TurnCommit, ViewRecord, WakeSeq, WakeTopic,
};
use durable_core::{CUSTOM_STATUS_VIEW, InstanceId, Name};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure_eq};
use super::super::node::TestNode;
use super::super::waiting::{begin_wait_of, is_told};
use crate::message::start_message;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Lifecycle, a_view_has_the_latest_value),
    check!(Lifecycle, a_view_can_be_cleared),
    check!(Lifecycle, the_custom_status_is_a_view),
    check!(Lifecycle, every_change_of_a_view_has_a_later_source),
    check!(Lifecycle, views_are_kept_apart_by_name_and_instance),
    check!(
        Lifecycle,
        views_stay_across_continue_as_new_and_after_the_end
    ),
    check!(Lifecycle, a_start_anew_has_no_views),
    check!(Lifecycle, views_go_with_a_purge),
    check!(AtomicCommit, views_change_with_their_turn_or_not_at_all),
    check!(Paging, views_are_read_in_pages),
    check!(Finding, a_change_of_a_view_ends_a_wait_for_views),
    check!(Finding, a_stop_ends_a_wait_for_views),
    check!(Finding, another_handle_is_told_of_a_view, needs OpenAgain),
    check!(Durability, views_survive_a_crash, needs OpenAgain),
];

/// The value of a view, if it has one.
async fn value(env: &Env, id: &str, name: &str) -> CheckResult<Option<String>> {
    let view = env.provider().view(&id.into(), &name.into()).await?;
    Ok(view.map(|view| view.value.to_string()))
}

/// All views, read in pages of this size, by name.
async fn all_views(env: &Env, id: &str, page_size: usize) -> CheckResult<Vec<ViewRecord>> {
    let id = InstanceId::from(id);
    let mut views: Vec<ViewRecord> = Vec::new();
    let mut after: Option<Name> = None;
    // As many pages as there may be views, and one more.
    for _ in 0..100 {
        let page = env.provider().views(&id, after.as_ref(), page_size).await?;
        views.extend(page.views);
        after = page.next;
        if after.is_none() {
            return Ok(views);
        }
    }
    let what = format!("the views of {id:?}, {page_size} at a time");
    Err(CheckFailure::new(what, "a last page", "no end"))
}

fn names(views: &[ViewRecord]) -> Vec<&str> {
    views.iter().map(|view| view.name.as_str()).collect()
}

/// Commits the turn after this one, under the same lease.
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

async fn a_view_has_the_latest_value(env: Env) -> CheckResult {
    let node = env.node().await?;
    ensure_eq("without an instance", value(&env, "a", "x").await?, None)?;
    let (turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    ensure_eq("before it is published", value(&env, "a", "x").await?, None)?;
    let turn = next_turn(&env, &node, &turn, |turn| {
        turn.view("x", "1").view("y", "[]").view("x", "2")
    })
    .await?;
    let view = env.provider().view(&"a".into(), &"x".into()).await?;
    let event_id = turn.expected_last_event_id.next().next().next();
    let source = SourceEvent::new(turn.execution_id, event_id);
    let at_ms = turn.last_recorded_ms().unwrap_or(0);
    let expected = ViewRecord::new("x".into(), "2".into(), source, at_ms);
    ensure_eq("the last value of a turn", view, Some(expected))?;
    let turn = next_turn(&env, &node, &turn, |turn| turn.activity("charge")).await?;
    let after = value(&env, "a", "x").await?;
    ensure_eq(
        "after a turn that says nothing",
        after.as_deref(),
        Some("2"),
    )?;
    next_turn(&env, &node, &turn, |turn| turn.view("x", "3")).await?;
    ensure_eq("x", value(&env, "a", "x").await?.as_deref(), Some("3"))?;
    ensure_eq("y", value(&env, "a", "y").await?.as_deref(), Some("[]"))?;
    let all = all_views(&env, "a", 10).await?;
    ensure_eq("the views", names(&all), vec!["x", "y"])
}

async fn a_view_can_be_cleared(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (mut turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    type Change = fn(TurnBuilder) -> TurnBuilder;
    let changes: [(Change, Option<&str>); 6] = [
        (|turn| turn.view_cleared("x"), None),
        (|turn| turn.view("x", "1"), Some("1")),
        (|turn| turn.view_cleared("x"), None),
        (|turn| turn.view("x", "2").view_cleared("x"), None),
        (|turn| turn.view_cleared("x").view("x", "3"), Some("3")),
        (|turn| turn.view_cleared("y"), Some("3")),
    ];
    for (change, expected) in changes {
        turn = next_turn(&env, &node, &turn, change).await?;
        let found = value(&env, "a", "x").await?;
        ensure_eq("the view", found.as_deref(), expected)?;
        let count = all_views(&env, "a", 10).await?.len();
        ensure_eq(
            "the number of views",
            count,
            usize::from(expected.is_some()),
        )?;
    }
    Ok(())
}

async fn the_custom_status_is_a_view(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node
        .begin("a", |turn| turn.custom_status("1").keeping_the_lease())
        .await?;
    let found = value(&env, "a", CUSTOM_STATUS_VIEW).await?;
    ensure_eq("the view", found.as_deref(), Some("1"))?;
    let record = env.record("a").await?;
    ensure_eq("the record", record.custom_status, Some("1".into()))?;
    next_turn(&env, &node, &turn, |turn| {
        turn.view_cleared(CUSTOM_STATUS_VIEW)
    })
    .await?;
    let record = env.record("a").await?;
    ensure_eq("the record without it", record.custom_status, None)
}

async fn every_change_of_a_view_has_a_later_source(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (mut turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let mut last = None;
    type Change = fn(TurnBuilder) -> TurnBuilder;
    let changes: [Change; 4] = [
        |turn| turn.view("x", "1"),
        |turn| turn.view("x", "1"),
        |turn| turn.view_cleared("x").view("x", "1"),
        |turn| turn.view("x", "1").completed("1"),
    ];
    for change in changes {
        turn = next_turn(&env, &node, &turn, change).await?;
        last = Some(is_later(&env, last).await?);
    }
    let again = env.start_with("a", start_message("again"), IdReuse::RestartEnded);
    let _ = again.await?;
    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).view("x", "1").completed("1");
    node.commit_done(turn.build()).await?;
    last = Some(is_later(&env, last).await?);
    env.purge(10).await?;
    node.begin("a", |turn| turn.view("x", "1")).await?;
    is_later(&env, last).await.map(drop)
}

/// Demands that the view `x` of `a` was published by a later event than this one.
async fn is_later(env: &Env, last: Option<SourceEvent>) -> CheckResult<SourceEvent> {
    let view = env.provider().view(&"a".into(), &"x".into()).await?;
    match view {
        Some(view) if Some(view.source) > last => Ok(view.source),
        other => Err(CheckFailure::new(
            "the source of a view that changed",
            format!("one after {last:?}"),
            format!("{other:?}"),
        )),
    }
}

async fn views_are_kept_apart_by_name_and_instance(env: Env) -> CheckResult {
    const AWKWARD: [&str; 9] = ["A", "a", "a:b", "a\u{0}", "ü", "%", "*", " ", "v:a"];
    let node = env.node().await?;
    for id in ["a", "A", "a:a"] {
        node.begin(id, |turn| {
            let publish = |turn: TurnBuilder, name: &&str| {
                turn.view(*name, format!("\"{id} {}\"", name.escape_debug()))
            };
            AWKWARD.iter().fold(turn, publish)
        })
        .await?;
    }
    let mut sorted = AWKWARD.to_vec();
    sorted.sort_unstable();
    for id in ["a", "A", "a:a"] {
        for name in AWKWARD {
            let found = value(&env, id, name).await?;
            let expected = format!("\"{id} {}\"", name.escape_debug());
            ensure_eq(name, found, Some(expected))?;
        }
        let all = all_views(&env, id, 100).await?;
        ensure_eq("the names, sorted", names(&all), sorted.clone())?;
    }
    Ok(())
}

async fn views_stay_across_continue_as_new_and_after_the_end(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node
        .begin("a", |turn| turn.view("x", "1").keeping_the_lease())
        .await?;
    let published = all_views(&env, "a", 10).await?;
    let next = next_turn(&env, &node, &turn, TurnBuilder::continued_as_new).await?;
    let continued = all_views(&env, "a", 10).await?;
    ensure_eq("in the next execution", &continued, &published)?;
    next_turn(&env, &node, &next, |turn| turn.completed("1")).await?;
    let ended = all_views(&env, "a", 10).await?;
    ensure_eq("after the end", &ended, &published)?;
    // The turn that ends an instance may publish, too.
    node.begin("b", |turn| turn.view("x", "2").completed("1"))
        .await?;
    let last = value(&env, "b", "x").await?;
    ensure_eq("of the last turn", last.as_deref(), Some("2"))
}

async fn a_start_anew_has_no_views(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| {
        turn.view("x", "1").custom_status("2").completed("1")
    })
    .await?;
    let again = env.start_with("a", start_message("again"), IdReuse::RestartEnded);
    let _ = again.await?;
    let left = all_views(&env, "a", 10).await?;
    ensure_eq("the views", left, Vec::new())?;
    ensure_eq("one of them", value(&env, "a", "x").await?, None)
}

async fn views_go_with_a_purge(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.view("x", "1").completed("1"))
        .await?;
    node.begin("b", |turn| turn.view("x", "1")).await?;
    env.purge(10).await?;
    let left = all_views(&env, "a", 10).await?;
    ensure_eq("the views", left, Vec::new())?;
    env.start("a").await?;
    let left = all_views(&env, "a", 10).await?;
    ensure_eq("the views of the next instance", left, Vec::new())?;
    let other = value(&env, "b", "x").await?;
    ensure_eq("of an instance that runs", other.as_deref(), Some("1"))
}

async fn views_change_with_their_turn_or_not_at_all(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let first = node.first_turn(&ready).view("x", "1").view("y", "1");
    let turn = first.keeping_the_lease().build();
    node.commit_done(turn.clone()).await?;
    let next = TurnBuilder::after(&turn, env.now_ms());
    let next = next.view("x", "2").view_cleared("y").build();
    let mut behind = next.clone();
    behind.execution_id = behind.execution_id.next();
    for update in &mut behind.update.views {
        update.source.execution_id = behind.execution_id;
    }
    let outcome = node.commit(behind).await?;
    let is_conflict = matches!(outcome, CommitOutcome::Conflict { .. });
    ensure_eq("a commit from another tail", is_conflict, true)?;
    let mut fenced = next.clone();
    fenced.lease.token += 1_000_000;
    let outcome = node.commit(fenced).await?;
    ensure_eq("a commit without the lease", outcome, CommitOutcome::Fenced)?;
    for name in ["x", "y"] {
        let kept = value(&env, "a", name).await?;
        ensure_eq(name, kept.as_deref(), Some("1"))?;
    }
    node.commit_done(next.clone()).await?;
    let changed = (value(&env, "a", "x").await?, value(&env, "a", "y").await?);
    ensure_eq("both", changed, (Some("2".into()), None))?;
    let repeated = node.commit(next).await?;
    let is_known = matches!(repeated, CommitOutcome::AlreadyDone(_));
    ensure_eq("the same commit again", is_known, true)?;
    let all = all_views(&env, "a", 10).await?;
    ensure_eq("the views", names(&all), vec!["x"])
}

async fn views_are_read_in_pages(env: Env) -> CheckResult {
    let node = env.node().await?;
    let expected = ["a", "b", "c", "d", "e", "f", "g"];
    node.begin("a", |turn| {
        let reversed = expected.iter().rev();
        reversed.fold(turn, |turn, name| turn.view(*name, format!("\"{name}\"")))
    })
    .await?;
    for page_size in [1, 2, 3, 7, 8] {
        let all = all_views(&env, "a", page_size).await?;
        ensure_eq("the views in pages", names(&all), expected.to_vec())?;
    }
    let nothing = env.provider().views(&"a".into(), None, 0).await?;
    ensure_eq("a page of none", nothing.views, Vec::new())?;
    let after = env
        .provider()
        .views(&"a".into(), Some(&"cc".into()), 2)
        .await?;
    ensure_eq(
        "after a name that is none",
        names(&after.views),
        vec!["d", "e"],
    )
}

async fn a_change_of_a_view_ends_a_wait_for_views(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (mut turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let topic = WakeTopic::Views("a".into());
    let mut seen = WakeSeq::default();
    type Change = fn(TurnBuilder) -> TurnBuilder;
    let changes: [(&str, Change); 3] = [
        ("published", |turn| turn.view("x", "1")),
        ("cleared", |turn| turn.view_cleared("x")),
        ("custom status", |turn| turn.custom_status("1")),
    ];
    for (what, change) in changes {
        let waiting = begin_wait_of(env.provider(), None, topic.clone(), seen).await;
        turn = next_turn(&env, &node, &turn, change).await?;
        let what = format!("a client that waits for views: {what}");
        seen = is_told(&env, &what, waiting).await?;
    }
    Ok(())
}

async fn a_stop_ends_a_wait_for_views(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node
        .begin("a", |turn| turn.view("x", "1").keeping_the_lease())
        .await?;
    let topic = WakeTopic::Views("a".into());
    let first = begin_wait_of(env.provider(), None, topic.clone(), WakeSeq::default()).await;
    let turn = next_turn(&env, &node, &turn, |turn| turn.view("x", "2")).await?;
    let seen = is_told(&env, "a client that waits for views", first).await?;
    let waiting = begin_wait_of(env.provider(), None, topic, seen).await;
    next_turn(&env, &node, &turn, |turn| turn.completed("1")).await?;
    is_told(&env, "a client that waits for views: the end", waiting).await?;
    Ok(())
}

async fn another_handle_is_told_of_a_view(env: Env) -> CheckResult {
    let here = env.node().await?;
    let there = env.second_handle().await;
    let (turn, _) = here.begin("a", TurnBuilder::keeping_the_lease).await?;
    let watching = tokio::spawn(async move {
        let (id, name) = (InstanceId::from("a"), Name::from("x"));
        let (topic, mut seen) = (WakeTopic::Views(id.clone()), WakeSeq::default());
        loop {
            if there.view(&id, &name).await?.is_some() {
                return CheckResult::Ok(());
            }
            seen = there.wait(None, &topic, seen).await?;
        }
    });
    next_turn(&env, &here, &turn, |turn| turn.view("x", "1")).await?;
    let what = "a client on another handle, of a view";
    let watched = env.within_timeout(what, watching).await?;
    watched.map_err(|error| CheckFailure::new(what, "an answer", error.to_string()))?
}

async fn views_survive_a_crash(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.view("x", "1").view("y", "2"))
        .await?;
    let before = all_views(&env, "a", 10).await?;
    drop(node);
    let env = env.crash().await;
    let after = all_views(&env, "a", 10).await?;
    ensure_eq("the views", after, before)
}
