//! The rules of an instance's life: its record, delays, suspension, its end and
//! its removal.

use durable_core::filter::Filter;
use durable_core::provider::{
    CommitOutcome, InstanceStatus, PurgeRequest, Release, SendOutcome, StatusKind, WorkResult,
};
use durable_core::{EventId, ExecutionId, Failure, FailureKind, InstanceId};

use super::super::check::{Check, check};
use super::super::env::{Env, suspension};
use super::super::failure::{CheckResult, ensure, ensure_eq};
use super::super::node::message_ids;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Lifecycle, a_record_follows_the_commits),
    check!(Lifecycle, a_custom_status_can_be_cleared),
    check!(
        Lifecycle,
        what_blocks_an_instance_is_told_until_the_next_commit
    ),
    check!(
        Lifecycle,
        what_kept_a_holder_from_running_is_told_until_the_next_commit
    ),
    check!(
        Lifecycle,
        messages_to_unknown_and_ended_instances_are_told_apart
    ),
    check!(Lifecycle, a_released_instance_waits_until_it_may_be_run),
    check!(Lifecycle, a_commit_can_delay_the_next_hand_out),
    check!(Lifecycle, a_message_does_not_shorten_a_delay),
    check!(Lifecycle, a_suspended_instance_is_not_handed_out),
    check!(Lifecycle, suspending_fences_the_holder),
    check!(Lifecycle, a_commit_can_suspend_its_instance),
    check!(Lifecycle, a_resumed_instance_is_ready_without_a_message),
    check!(Lifecycle, resuming_restores_the_status),
    check!(Lifecycle, resuming_what_runs_changes_nothing),
    check!(
        Lifecycle,
        unknown_and_ended_instances_are_neither_suspended_nor_resumed
    ),
    check!(Lifecycle, a_purge_removes_ended_instances_only),
    check!(Lifecycle, a_purge_removes_everything_of_an_instance),
    check!(Lifecycle, a_purge_is_bounded_and_says_if_there_is_more),
    check!(Lifecycle, a_purge_removes_what_its_filter_means),
];

async fn a_record_follows_the_commits(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let first = env.record("a").await?;
    ensure_eq("the status", &first.status, &InstanceStatus::Running)?;
    ensure_eq("the version", first.version, Some("1.0.0".into()))?;
    ensure_eq("the custom status", first.custom_status, None)?;

    env.time.tick().await;
    let next = TurnBuilder::after(&turn, env.now_ms()).custom_status("1");
    let next = next.keeping_the_lease().build();
    node.commit_done(next.clone()).await?;
    let second = env.record("a").await?;
    ensure_eq(
        "the custom status",
        &second.custom_status,
        &Some("1".into()),
    )?;
    ensure_eq("the status", &second.status, &InstanceStatus::Running)?;
    ensure_eq(
        "when it was created",
        second.created_at_ms,
        first.created_at_ms,
    )?;
    let changed = (first.updated_at_ms, second.updated_at_ms);
    ensure(
        changed.0 <= changed.1,
        "when it changed",
        "not before",
        changed,
    )?;

    let last = TurnBuilder::after(&next, env.now_ms()).completed("42");
    node.commit_done(last.build()).await?;
    let ended = env.record("a").await?;
    let output = "42".into();
    ensure_eq(
        "the status",
        ended.status,
        InstanceStatus::Completed { output },
    )?;
    ensure_eq("the custom status", ended.custom_status, Some("1".into()))?;
    ensure_eq("the tail", ended.last_event_id, EventId::new(3))
}

async fn a_custom_status_can_be_cleared(env: Env) -> CheckResult {
    type Step = fn(TurnBuilder) -> TurnBuilder;
    let node = env.node().await?;
    let (mut turn, _) = node.begin("a", TurnBuilder::keeping_the_lease).await?;
    let steps: [(Step, Option<&str>); 5] = [
        // One that was never set can be cleared too.
        (TurnBuilder::custom_status_cleared, None),
        (|turn| turn.custom_status("1"), Some("1")),
        (|turn| turn, Some("1")),
        (TurnBuilder::custom_status_cleared, None),
        (|turn| turn.custom_status("2"), Some("2")),
    ];
    for (step, expected) in steps {
        let next = step(TurnBuilder::after(&turn, env.now_ms()));
        turn = next.keeping_the_lease().build();
        node.commit_done(turn.clone()).await?;
        let record = env.record("a").await?;
        ensure_eq(
            "the custom status",
            record.custom_status.as_deref(),
            expected,
        )?;
    }
    Ok(())
}

async fn what_blocks_an_instance_is_told_until_the_next_commit(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let blocked = Failure::new(FailureKind::NotRegistered, "no node has version 9");
    let turn = node.turn(&ready).blocked(blocked.clone());
    node.commit_done(turn.build()).await?;
    let record = env.record("a").await?;
    ensure_eq("what blocks it", record.blocked, Some(blocked))?;
    ensure_eq("the status", record.status, InstanceStatus::Pending)?;
    let ready = node.take("a").await?;
    ensure_eq("messages that are still there", ready.messages.len(), 1)?;
    node.commit_done(node.first_turn(&ready).build()).await?;
    ensure_eq("what blocks it then", env.record("a").await?.blocked, None)
}

async fn what_kept_a_holder_from_running_is_told_until_the_next_commit(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    env.suspend("a").await?;
    env.resume("a").await?;
    let missing = Failure::new(FailureKind::NotRegistered, "no node has version 9");
    let ready = node.take("a").await?;
    let lost = Release::new(ready.lease.clone()).blocked(missing.clone());
    node.give_back(lost.clone()).await?;
    let record = env.record("a").await?;
    ensure_eq("what blocks it", record.blocked.as_ref(), Some(&missing))?;
    ensure_eq("the status", record.status, InstanceStatus::Running)?;

    // A resumed instance is still to run; a release that says nothing changes nothing.
    let ready = node.take("a").await?;
    node.release(&ready, None).await?;
    let blocked = env.record("a").await?.blocked;
    ensure_eq("what blocks it still", blocked, Some(missing))?;

    let ready = node.take("a").await?;
    node.commit_done(node.turn(&ready).build()).await?;
    ensure_eq("what blocks it then", env.record("a").await?.blocked, None)?;
    node.give_back(lost).await?;
    let blocked = env.record("a").await?.blocked;
    ensure_eq("what a lost lease says", blocked, None)
}

async fn messages_to_unknown_and_ended_instances_are_told_apart(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("ended", |turn| turn.completed("1")).await?;
    node.begin("running", |turn| turn).await?;
    for (id, expected) in [
        ("running", SendOutcome::Accepted),
        ("ended", SendOutcome::InstanceEnded),
        ("unknown", SendOutcome::UnknownInstance),
    ] {
        ensure_eq(
            format!("a message to {id}"),
            env.try_raise(id, "m1").await?,
            expected,
        )?;
    }
    let ready = node.take("running").await?;
    ensure_eq("the messages", message_ids(&ready), vec!["m1"])
}

async fn a_released_instance_waits_until_it_may_be_run(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let not_before_ms = env.soon_ms();
    node.release(&ready, Some(not_before_ms)).await?;
    waits_until(&env, not_before_ms).await
}

async fn a_commit_can_delay_the_next_hand_out(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let not_before_ms = env.soon_ms();
    node.commit_done(node.turn(&ready).not_before(not_before_ms).build())
        .await?;
    waits_until(&env, not_before_ms).await
}

async fn a_message_does_not_shorten_a_delay(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let not_before_ms = env.soon_ms();
    node.release(&ready, Some(not_before_ms)).await?;
    env.raise("a", "m1").await?;
    waits_until(&env, not_before_ms).await
}

/// Demands that `a` is handed out at this time and not before.
async fn waits_until(env: &Env, not_before_ms: u64) -> CheckResult {
    let node = env.node().await?;
    let early = node.fetch_batch(10).await?;
    if !env.is_before(not_before_ms) {
        return Ok(());
    }
    let is_delayed = early.instances.is_empty();
    ensure(
        is_delayed,
        "instances before their delay has passed",
        "none",
        &early,
    )?;
    ensure_eq("when it is due", early.next_due_ms, Some(not_before_ms))?;
    env.time.pass_short().await;
    node.take("a").await?;
    Ok(())
}

async fn a_suspended_instance_is_not_handed_out(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    env.suspend("a").await?;
    let suspended = InstanceStatus::Suspended {
        failure: suspension(),
    };
    ensure_eq("the status", env.record("a").await?.status, suspended)?;
    node.finds_no_instance("`a` is suspended").await?;
    env.raise("a", "m1").await?;
    node.finds_no_instance("`a` is suspended, also with a message")
        .await?;
    env.resume("a").await?;
    ensure_eq("all messages", node.take("a").await?.messages.len(), 2)
}

async fn suspending_fences_the_holder(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    env.suspend("a").await?;
    let outcome = node.commit(node.first_turn(&ready).build()).await?;
    ensure_eq("a commit of the holder", outcome, CommitOutcome::Fenced)?;
    env.raise("a", "m1").await?;
    node.finds_no_instance("`a` is suspended, also for its holder")
        .await?;
    env.resume("a").await?;
    let again = node.take("a").await?;
    ensure_eq("all messages", again.messages.len(), 2)?;
    ensure_eq("its crashes", again.crashes, 0)
}

async fn a_commit_can_suspend_its_instance(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    node.commit_done(node.turn(&ready).suspended(suspension()).build())
        .await?;
    let suspended = InstanceStatus::Suspended {
        failure: suspension(),
    };
    ensure_eq("the status", env.record("a").await?.status, suspended)?;
    node.finds_no_instance("`a` is suspended").await?;
    env.resume("a").await?;
    ensure_eq("its messages", node.take("a").await?.messages.len(), 1)
}

async fn a_resumed_instance_is_ready_without_a_message(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    env.suspend("a").await?;
    node.finds_no_instance("`a` is suspended").await?;
    env.resume("a").await?;
    let ready = node.take("a").await?;
    ensure_eq("its messages", ready.messages.len(), 0)?;
    node.commit_done(node.turn(&ready).build()).await?;
    node.finds_no_instance("it ran since it was resumed").await
}

async fn resuming_restores_the_status(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("running", |turn| turn).await?;
    env.start("pending").await?;
    for (id, status) in [
        ("running", InstanceStatus::Running),
        ("pending", InstanceStatus::Pending),
    ] {
        env.suspend(id).await?;
        env.resume(id).await?;
        ensure_eq(
            format!("the status of {id}"),
            env.record(id).await?.status,
            status,
        )?;
    }
    Ok(())
}

async fn resuming_what_runs_changes_nothing(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    env.resume("a").await?;
    node.commit_done(node.first_turn(&ready).build()).await?;
    env.resume("a").await?;
    node.finds_no_instance("it was not suspended").await
}

async fn unknown_and_ended_instances_are_neither_suspended_nor_resumed(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("ended", |turn| turn.completed("1")).await?;
    for (id, expected) in [
        ("ended", SendOutcome::InstanceEnded),
        ("unknown", SendOutcome::UnknownInstance),
    ] {
        let outcome = env.provider().suspend(&id.into(), suspension()).await?;
        ensure_eq(format!("suspending {id}"), outcome, expected)?;
        let outcome = env.provider().resume(&id.into()).await?;
        ensure_eq(format!("resuming {id}"), outcome, expected)?;
    }
    let status = env.record("ended").await?.status.kind();
    ensure_eq("the status", status, StatusKind::Completed)
}

async fn a_purge_removes_ended_instances_only(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("ended", |turn| turn.completed("1")).await?;
    node.begin("running", |turn| turn).await?;
    env.start("pending").await?;
    env.start("suspended").await?;
    env.suspend("suspended").await?;
    let report = env.purge(10).await?;
    let found = (report.instances, report.has_more);
    ensure_eq("purged, and whether there is more", found, (1, false))?;
    let left = env.listed(&Filter::all(), 10).await?;
    let expected = ["pending", "running", "suspended"].map(InstanceId::from);
    ensure_eq("what is left", left, expected.to_vec())
}

async fn a_purge_removes_everything_of_an_instance(env: Env) -> CheckResult {
    let node = env.node().await?;
    let begun = node.begin("a", |turn| {
        turn.activity("charge")
            .continued_as_new()
            .keeping_the_lease()
            .claiming(1)
    });
    let (turn, committed) = begun.await?;
    env.raise("a", "m1").await?;
    let last = TurnBuilder::after(&turn, env.now_ms())
        .completed("1")
        .build();
    node.commit_done(last.clone()).await?;
    let ready = node.take("a").await?;
    env.purge(10).await?;

    let id = InstanceId::from("a");
    let record = env.provider().instance(&id).await?;
    ensure(record.is_none(), "the record", "none", record)?;
    let executions = env.provider().executions(&id).await?;
    ensure(executions.is_empty(), "the executions", "none", executions)?;
    for execution in 1..=2 {
        let history = env.history("a", ExecutionId::new(execution)).await?;
        ensure(history.is_empty(), "its history", "empty", history)?;
    }
    let outcome = node.commit(node.turn(&ready).build()).await?;
    ensure_eq("a commit of its holder", outcome, CommitOutcome::Fenced)?;
    for work in &committed.claimed {
        let done = WorkResult::Finished(Ok("1".into()));
        node.settle_lost("settling its work", work, done).await?;
    }
    node.finds_no_instance("it was purged").await?;
    let sent = env.try_raise("a", "m2").await?;
    ensure_eq("a message to it", sent, SendOutcome::UnknownInstance)?;
    env.start("a").await?;
    ensure_eq(
        "messages of a new one",
        node.take("a").await?.messages.len(),
        1,
    )
}

async fn a_purge_is_bounded_and_says_if_there_is_more(env: Env) -> CheckResult {
    let node = env.node().await?;
    for number in 0..5 {
        node.begin(&format!("i{number}"), |turn| turn.completed("1"))
            .await?;
    }
    for expected in [(2, true), (2, true), (1, false), (0, false)] {
        let report = env.purge(2).await?;
        let found = (report.instances, report.has_more);
        ensure_eq("purged, and whether there is more", found, expected)?;
    }
    Ok(())
}

async fn a_purge_removes_what_its_filter_means(env: Env) -> CheckResult {
    let node = env.node().await?;
    for id in ["old-1", "old-2", "new-1"] {
        node.begin(id, |turn| turn.completed("1")).await?;
    }
    let purge = PurgeRequest::new(Filter::id_starts_with("old"), 10);
    let report = env.provider().purge(&purge).await?;
    ensure_eq("purged instances", report.instances, 2)?;
    let left = env.listed(&Filter::all(), 10).await?;
    ensure_eq("what is left", left, vec!["new-1".into()])
}
