//! Promise 6, what is handed out: a work item is what the event says that scheduled it,
//! whenever and to whichever session it is handed out, and as a dead letter too.

use durable_core::provider::{
    ClaimedWork, NewWork, PoisonedWork, ReadyInstance, SourceEvent, TurnCommit, WorkItem,
    WorkResult,
};
use durable_core::{ActivityOptions, Event, Failure, FailureKind, HistoryEntry, Name};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure_eq};
use super::super::node::{TestNode, retry};
use crate::conformance::samples;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Work, claimed_work_is_what_its_event_says),
    check!(Work, work_that_comes_back_is_what_its_event_says),
    check!(Work, work_across_continue_as_new_is_what_its_event_says),
    check!(Work, dead_letters_are_what_their_events_say),
    check!(Durability, work_after_a_crash_is_what_its_event_says, needs OpenAgain),
];

/// Numbers that are no positions, and one that no floating-point number holds.
const NUMBERS: [u64; 2] = [41, 9_007_199_254_740_993];

fn queues() -> [Option<Name>; 2] {
    [None, samples::options().queue]
}

/// A turn with two calls on two queues, whose options differ from the defaults, recorded
/// before the store's present time.
async fn calling_twice(
    node: &TestNode<'_>,
    ready: &ReadyInstance,
    finish: impl FnOnce(TurnBuilder) -> TurnBuilder,
) -> TurnCommit {
    let mut turn = node.first_turn(ready);
    let mut added = Vec::new();
    for (queue, number) in queues().into_iter().zip(NUMBERS) {
        let source = SourceEvent::new(ready.execution_id, turn.next_event_id());
        added.push(NewWork::new(source, number));
        let mut options = samples::options();
        options.queue = queue;
        turn = turn.event(|event_id| Event::ActivityScheduled {
            event_id,
            execution_id: ready.execution_id,
            name: format!("activity-{number}").into(),
            input: format!("{{\"number\":{number}}}").into(),
            options,
        });
    }
    let mut turn = finish(turn).build();
    turn.new_work = added;
    node.env.time.tick().await;
    turn
}

/// Starts `a` and commits a turn that calls two activities.
async fn begin(
    node: &TestNode<'_>,
    finish: impl FnOnce(TurnBuilder) -> TurnBuilder,
) -> CheckResult<(TurnCommit, Vec<ClaimedWork>)> {
    node.env.start("a").await?;
    let ready = node.take("a").await?;
    let turn = calling_twice(node, &ready, finish).await;
    let committed = node.commit_done(turn.clone()).await?;
    node.env.time.tick().await;
    Ok((turn, committed.claimed))
}

/// What the stored history says about the work of a turn of `a`.
async fn said_by_events(env: &Env, turn: &TurnCommit) -> CheckResult<Vec<WorkItem>> {
    let mut items = Vec::new();
    for work in &turn.new_work {
        let SourceEvent {
            execution_id,
            event_id,
        } = work.source;
        let history = env.history("a", execution_id).await?;
        let entry = history
            .iter()
            .find(|entry: &&HistoryEntry| entry.event_id() == event_id);
        let item = entry
            .and_then(|entry| WorkItem::scheduled_by("a".into(), execution_id, entry, work.number));
        items.push(item.ok_or_else(|| {
            let what = format!("{} in the history", work.source);
            CheckFailure::new(what, "an activity", format!("{entry:?}"))
        })?);
    }
    Ok(items)
}

/// Demands that claimed work is what its events say.
#[track_caller]
fn is_said(what: &str, claimed: &[ClaimedWork], said: &[WorkItem]) -> CheckResult {
    let mut claimed: Vec<&ClaimedWork> = claimed.iter().collect();
    claimed.sort_by(|one, other| one.item.key.cmp(&other.item.key));
    let items: Vec<&WorkItem> = claimed.iter().map(|work| &work.item).collect();
    ensure_eq(what, items, said.iter().collect())?;
    let leased = claimed.iter().map(|work| &work.lease.key).collect();
    let keys: Vec<_> = said.iter().map(|item| &item.key).collect();
    ensure_eq(format!("the leases of {what}"), keys, leased)
}

async fn fetch(node: &TestNode<'_>) -> CheckResult<Vec<ClaimedWork>> {
    Ok(node.fetch_work_from(&queues(), 9).await?.work)
}

async fn claimed_work_is_what_its_event_says(env: Env) -> CheckResult {
    let (node, other) = (env.node().await?, env.node().await?);
    let claiming = |turn: TurnBuilder| turn.claiming_from(&[None], 1);
    let (turn, claimed) = begin(&node, claiming).await?;
    let said = said_by_events(&env, &turn).await?;
    is_said("work that the commit claimed", &claimed, &said[..1])?;
    let fetched = fetch(&other).await?;
    is_said("work that is fetched later", &fetched, &said[1..])
}

async fn work_that_comes_back_is_what_its_event_says(env: Env) -> CheckResult {
    let dead = env.mortal_node().await?;
    let claiming = |turn: TurnBuilder| turn.claiming_from(&[None], 1);
    let (turn, _) = begin(&dead, claiming).await?;
    fetch(&dead).await?;
    let said = said_by_events(&env, &turn).await?;
    env.time.pass_short().await;
    let heir = env.node().await?;
    let work = fetch(&heir).await?;
    is_said("work of a dead session", &work, &said)?;
    let results = [
        retry(0),
        WorkResult::HandedBack {
            not_before_ms: None,
        },
    ];
    for (work, result) in work.iter().zip(results) {
        heir.settle_held(work, result).await?;
    }
    let work = fetch(&heir).await?;
    is_said("work that is retried and handed back", &work, &said)?;
    heir.close().await?;
    let work = fetch(&env.node().await?).await?;
    is_said("work of a closed session", &work, &said)
}

async fn work_across_continue_as_new_is_what_its_event_says(env: Env) -> CheckResult {
    let node = env.node().await?;
    env.start("a").await?;
    let ready = node.take("a").await?;
    let mut turn = calling_twice(&node, &ready, TurnBuilder::continued_as_new).await;
    let execution_id = ready.execution_id.next();
    if let Some(next) = &mut turn.next_execution {
        let begun = next.events.last();
        let Some(event_id) = begun.map(|entry| entry.event_id().next()) else {
            return Err(CheckFailure::new("the turn", "a next execution", "none"));
        };
        next.events.push(HistoryEntry::new(
            begun.map_or(0, |entry| entry.recorded_at_ms) + 1,
            Event::ActivityScheduled {
                event_id,
                execution_id,
                name: "next".into(),
                input: "3".into(),
                options: ActivityOptions::default(),
            },
        ));
        let source = SourceEvent::new(execution_id, event_id);
        turn.new_work.push(NewWork::new(source, 3));
    }
    node.commit_done(turn.clone()).await?;
    let said = said_by_events(&env, &turn).await?;
    ensure_eq("the calls of both executions", said.len(), 3)?;
    is_said("the work", &fetch(&node).await?, &said)
}

async fn dead_letters_are_what_their_events_say(env: Env) -> CheckResult {
    let node = env.node().await?;
    let (turn, _) = begin(&node, |turn| turn).await?;
    let said = said_by_events(&env, &turn).await?;
    let failure = Failure::new(FailureKind::Poisoned, "three workers died");
    for work in fetch(&node).await? {
        let poisoned = WorkResult::Poisoned(failure.clone());
        node.settle_held(&work, poisoned).await?;
    }
    let letters = said
        .into_iter()
        .map(|item| PoisonedWork::new(item, failure.clone()));
    let letters: Vec<PoisonedWork> = letters.collect();
    let listed = env.poisoned_in_pages(1).await?;
    ensure_eq("the dead letters", &listed, &letters)?;
    let ready = node.take("a").await?;
    let last = node.turn(&ready).consuming(&ready.messages);
    node.commit_done(last.completed("1").build()).await?;
    let listed = env.poisoned_in_pages(9).await?;
    ensure_eq("those of an ended instance", listed, letters)
}

async fn work_after_a_crash_is_what_its_event_says(env: Env) -> CheckResult {
    let node = env.mortal_node().await?;
    let claiming = |turn: TurnBuilder| turn.claiming_from(&[None], 1);
    let (turn, _) = begin(&node, claiming).await?;
    let env = env.crash().await;
    env.time.pass_short().await;
    let said = said_by_events(&env, &turn).await?;
    let work = fetch(&env.node().await?).await?;
    is_said("the work after a crash", &work, &said)
}
