//! How scripts are drawn.

use durable_core::provider::{IdReuse, ReceiptWhen};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{collection, option};

use crate::conformance::TurnFlaw;

use super::script::{
    ModelScript, ScriptActivity, ScriptCall, ScriptDue, ScriptFlaw, ScriptInstance, ScriptMessage,
    ScriptMessageId, ScriptNode, ScriptPrune, ScriptQueue, ScriptRelease, ScriptSettlement,
    ScriptStart, ScriptStatus, ScriptTurn, ScriptTurnEnd, ScriptWork,
};

/// Scripts of at most this many calls. They begin with two nodes and an instance,
/// because without them little happens.
pub(super) fn script(max_steps: usize) -> impl Strategy<Value = ModelScript> {
    collection::vec(op(), 1..=max_steps.max(1)).prop_map(|drawn| {
        let first = ScriptMessageId(0);
        let opening = [
            ScriptCall::Open(ScriptNode(0)),
            ScriptCall::Open(ScriptNode(1)),
            ScriptCall::Start(
                ScriptInstance(0),
                first,
                IdReuse::Refuse,
                ScriptStart::default(),
            ),
        ];
        ModelScript(opening.into_iter().chain(drawn).collect())
    })
}

fn op() -> impl Strategy<Value = ScriptCall> {
    prop_oneof![
        2 => pass().prop_map(ScriptCall::Pass),
        2 => node().prop_map(ScriptCall::Open),
        2 => node().prop_map(ScriptCall::Heartbeat),
        2 => node().prop_map(ScriptCall::CancelledWork),
        1 => node().prop_map(ScriptCall::Close),
        3 => (instance(), sent(), reuse(), start())
            .prop_map(|(id, sent, reuse, brings)| ScriptCall::Start(id, sent, reuse, brings)),
        4 => (instance(), sent()).prop_map(|(id, sent)| ScriptCall::Send(id, sent)),
        7 => node().prop_map(ScriptCall::Fetch),
        12 => (node(), instance(), turn()).prop_map(|(node, id, turn)| ScriptCall::Commit(node, id, turn)),
        2 => (node(), instance()).prop_map(|(node, id)| ScriptCall::CommitAgain(node, id)),
        2 => (node(), instance(), option::of(due()), returned())
            .prop_map(|(node, id, due, returned)| ScriptCall::Release(node, id, due, returned)),
        4 => (node(), queue()).prop_map(|(node, queue)| ScriptCall::FetchWork(node, queue)),
        4 => (claimed(), settlement()).prop_map(|(work, how)| ScriptCall::Settle(work, how)),
        1 => claimed().prop_map(ScriptCall::HeartbeatWork),
        3 => (0..4_u8).prop_map(ScriptCall::FireTimers),
        1 => instance().prop_map(ScriptCall::Suspend),
        2 => instance().prop_map(ScriptCall::Resume),
        1 => (0..3_u8).prop_map(ScriptCall::Purge),
        1 => (instance(), prune()).prop_map(|(id, prune)| ScriptCall::Prune(id, prune)),
    ]
}

fn instance() -> impl Strategy<Value = ScriptInstance> {
    prop_oneof![4 => Just(ScriptInstance(0)), 2 => Just(ScriptInstance(1)), 1 => Just(ScriptInstance(2))]
}

fn node() -> impl Strategy<Value = ScriptNode> {
    prop_oneof![3 => Just(ScriptNode(0)), 1 => Just(ScriptNode(1))]
}

fn sent() -> impl Strategy<Value = ScriptMessageId> {
    (0..5_u8).prop_map(ScriptMessageId)
}

fn claimed() -> impl Strategy<Value = ScriptWork> {
    (0..6_u8).prop_map(ScriptWork)
}

fn queue() -> impl Strategy<Value = ScriptQueue> {
    prop_oneof![3 => Just(ScriptQueue::Default), 1 => Just(ScriptQueue::Named)]
}

fn activity() -> impl Strategy<Value = ScriptActivity> {
    let timeout = option::weighted(0.3, proptest::sample::select(vec![50, 500, 5_000]));
    (queue(), timeout).prop_map(|(queue, timeout_ms)| ScriptActivity { queue, timeout_ms })
}

fn prune() -> impl Strategy<Value = ScriptPrune> {
    let older_than = option::weighted(0.4, proptest::sample::select(vec![0, 50, 500]));
    (0..3_u8, older_than, 0..4_u8).prop_map(|(keep, older_than_ms, max)| ScriptPrune {
        keep,
        older_than_ms,
        max,
    })
}

fn start() -> impl Strategy<Value = ScriptStart> {
    let begins = option::weighted(0.2, due());
    let deadline = option::weighted(0.2, due());
    (any::<bool>(), begins, deadline).prop_map(|(has_event, begins, deadline)| ScriptStart {
        has_event,
        begins,
        deadline,
    })
}

fn receipt_when() -> impl Strategy<Value = ReceiptWhen> {
    let all = [ReceiptWhen::Always, ReceiptWhen::Undeliverable];
    proptest::sample::select(all.to_vec())
}

fn reuse() -> impl Strategy<Value = IdReuse> {
    let all = [IdReuse::Refuse, IdReuse::UseRunning, IdReuse::RestartEnded];
    proptest::sample::select(all.to_vec())
}

/// Sometimes less, sometimes more than a session lives without a heartbeat.
fn pass() -> impl Strategy<Value = u16> {
    proptest::sample::select(vec![10, 300, 700, 3_000])
}

fn due() -> impl Strategy<Value = ScriptDue> {
    let soon = proptest::sample::select(vec![50, 500, 5_000]);
    prop_oneof![2 => Just(ScriptDue::Now), 1 => soon.prop_map(ScriptDue::In)]
}

fn returned() -> impl Strategy<Value = ScriptRelease> {
    prop_oneof![2 => Just(ScriptRelease::Silently), 1 => Just(ScriptRelease::Blocked)]
}

fn settlement() -> impl Strategy<Value = ScriptSettlement> {
    prop_oneof![
        4 => Just(ScriptSettlement::Success),
        1 => Just(ScriptSettlement::Failure),
        2 => due().prop_map(ScriptSettlement::Retry),
        2 => option::of(due()).prop_map(ScriptSettlement::HandedBack),
        1 => Just(ScriptSettlement::Poisoned),
    ]
}

fn ending() -> impl Strategy<Value = ScriptTurnEnd> {
    prop_oneof![
        5 => Just(ScriptTurnEnd::Kept),
        4 => Just(ScriptTurnEnd::Free),
        1 => due().prop_map(ScriptTurnEnd::Delayed),
        1 => due().prop_map(ScriptTurnEnd::Blocked),
        1 => Just(ScriptTurnEnd::Suspended),
        1 => Just(ScriptTurnEnd::ContinuedAsNew),
        2 => Just(ScriptTurnEnd::Completed),
    ]
}

fn flaw() -> impl Strategy<Value = ScriptFlaw> {
    let invalid = proptest::sample::select(TurnFlaw::ALL);
    prop_oneof![
        8 => invalid.prop_map(ScriptFlaw::Invalid),
        1 => Just(ScriptFlaw::EmptyName),
    ]
}

fn message() -> impl Strategy<Value = ScriptMessage> {
    prop_oneof![
        1 => (sent(), reuse()).prop_map(|(id, reuse)| ScriptMessage::Start(id, reuse)),
        2 => sent().prop_map(ScriptMessage::Event),
        2 => (sent(), receipt_when())
            .prop_map(|(id, when)| ScriptMessage::EventWithReceipt(id, when)),
    ]
}

fn status() -> impl Strategy<Value = ScriptStatus> {
    prop_oneof![
        2 => Just(ScriptStatus::Set),
        1 => Just(ScriptStatus::Clear),
    ]
}

fn turn() -> impl Strategy<Value = ScriptTurn> {
    let rarely = |percent: u32| proptest::bool::weighted(f64::from(percent) / 100.0);
    let number = || option::weighted(0.3, 0..4_u8);
    let work = (
        collection::vec(activity(), 0..3),
        collection::vec(due(), 0..3),
        number(),
        number(),
        number(),
    );
    let rest = (
        0..4_u8,
        option::weighted(0.4, (instance(), message())),
        (
            option::weighted(0.2, status()),
            option::weighted(0.2, 0..4_u8),
        ),
        ending(),
        rarely(5),
        rarely(10),
        any::<bool>(),
        option::weighted(0.08, flaw()),
    );
    (work, rest).prop_map(|(work, rest)| {
        let (activities, timers, cancel_activity, finish_activity, cancel_timer) = work;
        let (consume, message, says, ending, from_wrong_tail, recorded_ahead, claim, flaw) = rest;
        ScriptTurn {
            consume,
            activities,
            timers,
            cancel_activity,
            finish_activity,
            cancel_timer,
            message,
            custom_status: says.0,
            attributes: says.1,
            ending,
            from_wrong_tail,
            recorded_ahead,
            claim,
            flaw,
        }
    })
}
