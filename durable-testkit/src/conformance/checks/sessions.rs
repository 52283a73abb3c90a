//! Promise 2, the session's side: it lives by its heartbeat, and when it ends,
//! what it held is free and it can do no harm.

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;

use durable_core::provider::{CommitOutcome, ProviderError, WakeSeq, WakeTopic};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure, ensure_eq};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(OneOwner, session_ids_are_never_used_again),
    check!(OneOwner, heartbeats_keep_what_a_session_holds),
    check!(OneOwner, a_session_without_heartbeats_ends),
    check!(
        OneOwner,
        heartbeats_are_answered_while_the_runtime_of_the_store_stands_still
    ),
    check!(OneOwner, a_closed_session_is_lost),
    check!(OneOwner, closing_a_session_twice_succeeds),
    check!(OneOwner, a_commit_of_a_dead_session_is_fenced),
    check!(OneOwner, a_commit_of_a_closed_session_is_fenced),
    check!(
        OneOwner,
        a_dead_sessions_instance_is_ready_with_the_crash_counted
    ),
    check!(
        OneOwner,
        a_dead_sessions_instance_is_ready_without_a_message
    ),
    check!(OneOwner, crashes_add_up_until_a_commit),
    check!(OneOwner, a_closed_session_counts_no_crash),
    check!(OneOwner, a_release_counts_no_crash),
    check!(OneOwner, a_session_that_may_end_is_told_as_due),
];

async fn session_ids_are_never_used_again(env: Env) -> CheckResult {
    let mut ids = BTreeSet::new();
    for _ in 0..5 {
        let node = env.node().await?;
        let is_new = ids.insert(node.session);
        ensure(
            is_new,
            "the id of a new session",
            "one that is new",
            node.session,
        )?;
        node.close().await?;
    }
    Ok(())
}

async fn heartbeats_keep_what_a_session_holds(env: Env) -> CheckResult {
    let (node, other) = (env.mortal_node().await?, env.node().await?);
    env.start("a").await?;
    let ready = node.take("a").await?;
    for _ in 0..3 {
        env.time.advance(env.time.short_ms() / 2).await;
        node.heartbeat().await?;
        other
            .finds_no_instance("`a` is held by a living session")
            .await?;
    }
    node.commit_done(node.first_turn(&ready).build()).await?;
    Ok(())
}

async fn a_session_without_heartbeats_ends(env: Env) -> CheckResult {
    let node = env.mortal_node().await?;
    env.time.pass_short().await;
    node.is_lost().await
}

async fn heartbeats_are_answered_while_the_runtime_of_the_store_stands_still(
    env: Env,
) -> CheckResult {
    let (opened, is_opened) = oneshot::channel();
    let (_until_dropped, is_dropped) = mpsc::channel::<()>();
    let opening = env.session_on_another_handle();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.map(|runtime| {
            runtime.block_on(async {
                // The check may have given up.
                let _ = opened.send(opening.await);
                let _ = is_dropped.recv();
            });
        })
    });
    let opened = env.within_timeout("a store in another runtime", is_opened);
    let Ok((provider, session)) = opened.await? else {
        let what = "a store in another runtime";
        return Err(CheckFailure::new(what, "it is opened", "a panic"));
    };
    let heartbeat = provider.heartbeat(session?);
    let answer = env.within_timeout("the answer to a heartbeat", heartbeat);
    Ok(answer.await??)
}

async fn a_closed_session_is_lost(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.close().await?;
    node.is_lost().await?;
    let session = node.session;
    let lost = Some(ProviderError::SessionLost { session });
    let answer = env.provider().fetch_instances(session, 1).await;
    ensure_eq("a fetch of instances", answer.err(), lost.clone())?;
    let answer = env.provider().fetch_work(session, &[None], 1).await;
    ensure_eq("a fetch of work", answer.err(), lost.clone())?;
    let provider = env.provider();
    let wait = provider.wait(Some(session), &WakeTopic::Instances, WakeSeq::default());
    let answer = env.within_timeout("the end of a wait", wait).await?;
    ensure_eq("a wait", answer.err(), lost)
}

async fn closing_a_session_twice_succeeds(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.close().await?;
    node.close().await?;
    let dead = env.mortal_node().await?;
    env.time.pass_short().await;
    dead.close().await
}

async fn a_commit_of_a_dead_session_is_fenced(env: Env) -> CheckResult {
    let (dead, heir) = (env.mortal_node().await?, env.node().await?);
    env.start("a").await?;
    let lost = dead.take("a").await?;
    env.time.pass_short().await;
    let held = heir.take("a").await?;
    let higher = held.lease.token > lost.lease.token;
    ensure(
        higher,
        "the new lease",
        "a higher token",
        (&held.lease, &lost.lease),
    )?;
    let outcome = dead.commit(dead.first_turn(&lost).build()).await?;
    ensure_eq("the zombie's commit", outcome, CommitOutcome::Fenced)?;
    dead.release(&lost, None).await?;
    heir.commit_done(heir.first_turn(&held).build()).await?;
    Ok(())
}

async fn a_commit_of_a_closed_session_is_fenced(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    node.close().await?;
    let outcome = node.commit(node.first_turn(&ready).build()).await?;
    ensure_eq("the commit", outcome, CommitOutcome::Fenced)
}

async fn a_dead_sessions_instance_is_ready_with_the_crash_counted(env: Env) -> CheckResult {
    let (dead, heir) = (env.mortal_node().await?, env.node().await?);
    env.start("a").await?;
    let lost = dead.take("a").await?;
    ensure_eq("crashes before", lost.crashes, 0)?;
    env.time.pass_short().await;
    let held = heir.take("a").await?;
    ensure_eq("crashes after", held.crashes, 1)?;
    ensure_eq("the messages, given again", held.messages, lost.messages)
}

async fn a_dead_sessions_instance_is_ready_without_a_message(env: Env) -> CheckResult {
    let (dead, heir) = (env.mortal_node().await?, env.node().await?);
    dead.begin("a", TurnBuilder::keeping_the_lease).await?;
    heir.finds_no_instance("`a` is held").await?;
    env.time.pass_short().await;
    let held = heir.take("a").await?;
    ensure_eq(
        "its messages and crashes",
        (held.messages.len(), held.crashes),
        (0, 1),
    )
}

async fn crashes_add_up_until_a_commit(env: Env) -> CheckResult {
    env.start("a").await?;
    for crashes in 0..3 {
        let dead = env.mortal_node().await?;
        ensure_eq("crashes so far", dead.take("a").await?.crashes, crashes)?;
        env.time.pass_short().await;
    }
    let node = env.node().await?;
    let ready = node.take("a").await?;
    ensure_eq("crashes so far", ready.crashes, 3)?;
    node.commit_done(node.first_turn(&ready).build()).await?;
    env.raise("a", "m1").await?;
    ensure_eq("crashes after a commit", node.take("a").await?.crashes, 0)
}

async fn a_closed_session_counts_no_crash(env: Env) -> CheckResult {
    let (closing, node) = (env.node().await?, env.node().await?);
    env.start("a").await?;
    closing.take("a").await?;
    closing.close().await?;
    let ready = node.take("a").await?;
    ensure_eq(
        "messages and crashes",
        (ready.messages.len(), ready.crashes),
        (1, 0),
    )
}

async fn a_release_counts_no_crash(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    node.release(&ready, None).await?;
    ensure_eq("crashes", node.take("a").await?.crashes, 0)
}

async fn a_session_that_may_end_is_told_as_due(env: Env) -> CheckResult {
    let (mortal, node) = (env.mortal_node().await?, env.node().await?);
    mortal
        .begin("a", |turn| {
            turn.keeping_the_lease().activity("charge").claiming(1)
        })
        .await?;
    let latest_ms = env.soon_ms() + env.time.skew_ms() + 1;
    let is_told = |due: Option<u64>| due.is_some_and(|due_ms| due_ms <= latest_ms);
    let due = node.fetch_batch(10).await?.next_due_ms;
    let what = "when an instance of another session may be ready";
    ensure(is_told(due), what, format!("at {latest_ms} or before"), due)?;
    let due = node.fetch_work_from(&[None], 10).await?.next_due_ms;
    let what = "when work of another session may be ready";
    ensure(is_told(due), what, format!("at {latest_ms} or before"), due)
}
