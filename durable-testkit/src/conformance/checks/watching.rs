//! Promise 9, clients: a wait for an instance, or for its stop, never misses what came
//! after its `seen`.

use durable_core::provider::{
    IdReuse, InstanceStatus, StartOutcome, StatusKind, WakeSeq, WakeTopic,
};
use durable_core::{Failure, FailureKind, InstanceId};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult};
use super::super::waiting::{begin_wait_of, is_told};
use crate::message::start_message;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Finding, a_change_of_an_instance_ends_a_wait_for_it),
    check!(Finding, every_stop_of_an_instance_ends_a_wait_for_it),
    check!(Finding, a_suspension_by_a_client_ends_a_wait_for_the_stop),
    check!(Finding, a_start_says_from_where_to_wait_for_the_end),
    check!(Finding, another_handle_is_told_of_a_change, needs OpenAgain),
    check!(Finding, another_handle_is_told_of_an_end, needs OpenAgain),
];

async fn a_change_of_an_instance_ends_a_wait_for_it(env: Env) -> CheckResult {
    let node = env.node().await?;
    let topic = WakeTopic::Instance("a".into());
    let mut seen = WakeSeq::default();
    let mut turn = None;
    let changes = [
        "started",
        "running",
        "status",
        "no status",
        "execution",
        "completed",
    ];
    for change in changes {
        let waiting = begin_wait_of(env.provider(), None, topic.clone(), seen).await;
        let next = turn
            .as_ref()
            .map(|turn| TurnBuilder::after(turn, env.now_ms()).keeping_the_lease());
        let next = match (change, next) {
            ("status", Some(next)) => Some(next.custom_status("1")),
            ("no status", Some(next)) => Some(next.custom_status_cleared()),
            ("execution", Some(next)) => Some(next.continued_as_new()),
            ("completed", Some(next)) => Some(next.completed("1")),
            ("running", _) => {
                let ready = node.take("a").await?;
                Some(node.first_turn(&ready).keeping_the_lease())
            }
            _ => None,
        };
        match next.map(TurnBuilder::build) {
            Some(next) => {
                node.commit_done(next.clone()).await?;
                turn = Some(next);
            }
            None => {
                env.start("a").await?;
            }
        }
        let what = format!("a client that waits for an instance: {change}");
        seen = is_told(&env, &what, waiting).await?;
    }
    Ok(())
}

async fn every_stop_of_an_instance_ends_a_wait_for_it(env: Env) -> CheckResult {
    let node = env.node().await?;
    let failure = || Failure::new(FailureKind::Terminated, "enough");
    let stops = [
        InstanceStatus::Completed { output: "1".into() },
        InstanceStatus::Failed { failure: failure() },
        InstanceStatus::Terminated { failure: failure() },
        InstanceStatus::Suspended { failure: failure() },
    ];
    for status in stops {
        let id = InstanceId::from(status.kind().to_string());
        let seen = seen_by_start(&env, &id, "start").await?;
        let stop = WakeTopic::Stop(id.clone());
        let waiting = begin_wait_of(env.provider(), None, stop, seen).await;
        let ready = node.take(&id).await?;
        let mut turn = match status.kind() {
            StatusKind::Suspended => node.first_turn(&ready).build(),
            _ => node.first_turn(&ready).completed("1").build(),
        };
        turn.update.status = Some(status);
        node.commit_done(turn).await?;
        let what = format!("a client that waits for the stop of an instance: {id}");
        is_told(&env, &what, waiting).await?;
    }
    Ok(())
}

async fn a_suspension_by_a_client_ends_a_wait_for_the_stop(env: Env) -> CheckResult {
    let node = env.node().await?;
    let id = InstanceId::from("a");
    let mut seen = seen_by_start(&env, &id, "start").await?;
    // Before its first turn, and while a node holds it.
    for round in ["pending", "held"] {
        let stop = WakeTopic::Stop(id.clone());
        let waiting = begin_wait_of(env.provider(), None, stop, seen).await;
        if round == "held" {
            let ready = node.take(&id).await?;
            let turn = node.first_turn(&ready).keeping_the_lease();
            node.commit_done(turn.build()).await?;
        }
        env.suspend(&id).await?;
        let what = format!("a client that waits for the stop of an instance that is {round}");
        seen = is_told(&env, &what, waiting).await?;
        env.resume(&id).await?;
    }
    Ok(())
}

async fn a_start_says_from_where_to_wait_for_the_end(env: Env) -> CheckResult {
    let node = env.node().await?;
    let id = InstanceId::from("a");
    for message_id in ["s1", "s2"] {
        let seen = seen_by_start(&env, &id, message_id).await?;
        let ready = node.take(&id).await?;
        node.commit_done(node.first_turn(&ready).completed("1").build())
            .await?;
        for topic in [WakeTopic::Stop(id.clone()), WakeTopic::Instance(id.clone())] {
            let what = format!("a wait for {topic:?} that began after the end");
            let wait = env.provider().wait(None, &topic, seen);
            env.within_timeout(&what, wait).await??;
        }
    }
    Ok(())
}

/// Starts an instance that is unused or has ended; answers from where to wait for it.
async fn seen_by_start(env: &Env, id: &InstanceId, message_id: &str) -> CheckResult<WakeSeq> {
    let (message, reuse) = (start_message(message_id), IdReuse::RestartEnded);
    match env.provider().start(id, message, reuse).await? {
        StartOutcome::Started {
            seen: Some(seen), ..
        } => Ok(seen),
        other => Err(CheckFailure::new(
            format!("the start of {id:?}"),
            "it is started, and says from where to wait",
            format!("{other:?}"),
        )),
    }
}

async fn another_handle_is_told_of_a_change(env: Env) -> CheckResult {
    another_handle_is_told(env, WakeTopic::Instance("a".into())).await
}

async fn another_handle_is_told_of_an_end(env: Env) -> CheckResult {
    another_handle_is_told(env, WakeTopic::Stop("a".into())).await
}

/// Demands that a client which waits for this on another handle sees the end of the
/// instance `a`.
async fn another_handle_is_told(env: Env, topic: WakeTopic) -> CheckResult {
    let here = env.node().await?;
    let there = env.second_handle().await;
    let (turn, _) = here.begin("a", TurnBuilder::keeping_the_lease).await?;
    let last = TurnBuilder::after(&turn, env.now_ms()).completed("1");
    let watching = tokio::spawn(async move {
        let (id, mut seen) = (InstanceId::from("a"), WakeSeq::default());
        loop {
            let record = there.instance(&id).await?;
            if record.is_some_and(|record| record.status.kind().is_ended()) {
                return CheckResult::Ok(());
            }
            seen = there.wait(None, &topic, seen).await?;
        }
    });
    here.commit_done(last.build()).await?;
    let what = "a client on another handle, of the end";
    let watched = env.within_timeout(what, watching).await?;
    watched.map_err(|error| CheckFailure::new(what, "an answer", error.to_string()))?
}
