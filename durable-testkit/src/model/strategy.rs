//! How scripts are drawn.

use durable_core::provider::IdReuse;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::{collection, option};

use super::op::{
    Claimed, Due, Ending, Instance, Letter, Node, Op, Queue, Returned, Script, Sent, Settlement,
    Turn,
};

/// Scripts of at most this many calls. They begin with two nodes and an instance,
/// because without them little happens.
pub(super) fn script(max_steps: usize) -> impl Strategy<Value = Script> {
    collection::vec(op(), 1..=max_steps.max(1)).prop_map(|drawn| {
        let first = Sent(0);
        let opening = [
            Op::Open(Node(0)),
            Op::Open(Node(1)),
            Op::Start(Instance(0), first, IdReuse::Refuse),
        ];
        Script(opening.into_iter().chain(drawn).collect())
    })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => pass().prop_map(Op::Pass),
        2 => node().prop_map(Op::Open),
        2 => node().prop_map(Op::Heartbeat),
        1 => node().prop_map(Op::Close),
        3 => (instance(), sent(), reuse()).prop_map(|(id, sent, reuse)| Op::Start(id, sent, reuse)),
        4 => (instance(), sent()).prop_map(|(id, sent)| Op::Send(id, sent)),
        7 => node().prop_map(Op::Fetch),
        12 => (node(), instance(), turn()).prop_map(|(node, id, turn)| Op::Commit(node, id, turn)),
        2 => (node(), instance()).prop_map(|(node, id)| Op::CommitAgain(node, id)),
        2 => (node(), instance(), option::of(due()), returned())
            .prop_map(|(node, id, due, returned)| Op::Release(node, id, due, returned)),
        4 => (node(), queue()).prop_map(|(node, queue)| Op::FetchWork(node, queue)),
        4 => (claimed(), settlement()).prop_map(|(work, how)| Op::Settle(work, how)),
        1 => claimed().prop_map(Op::HeartbeatWork),
        3 => (0..4_u8).prop_map(Op::FireTimers),
        1 => instance().prop_map(Op::Suspend),
        2 => instance().prop_map(Op::Resume),
        1 => (0..3_u8).prop_map(Op::Purge),
    ]
}

fn instance() -> impl Strategy<Value = Instance> {
    prop_oneof![4 => Just(Instance(0)), 2 => Just(Instance(1)), 1 => Just(Instance(2))]
}

fn node() -> impl Strategy<Value = Node> {
    prop_oneof![3 => Just(Node(0)), 1 => Just(Node(1))]
}

fn sent() -> impl Strategy<Value = Sent> {
    (0..5_u8).prop_map(Sent)
}

fn claimed() -> impl Strategy<Value = Claimed> {
    (0..6_u8).prop_map(Claimed)
}

fn queue() -> impl Strategy<Value = Queue> {
    prop_oneof![3 => Just(Queue::Default), 1 => Just(Queue::Named)]
}

fn reuse() -> impl Strategy<Value = IdReuse> {
    let all = [IdReuse::Refuse, IdReuse::UseRunning, IdReuse::RestartEnded];
    proptest::sample::select(all.to_vec())
}

/// Sometimes less, sometimes more than a session lives without a heartbeat.
fn pass() -> impl Strategy<Value = u16> {
    proptest::sample::select(vec![10, 300, 700, 3_000])
}

fn due() -> impl Strategy<Value = Due> {
    let soon = proptest::sample::select(vec![50, 500, 5_000]);
    prop_oneof![2 => Just(Due::Now), 1 => soon.prop_map(Due::In)]
}

fn returned() -> impl Strategy<Value = Returned> {
    prop_oneof![2 => Just(Returned::Silently), 1 => Just(Returned::Blocked)]
}

fn settlement() -> impl Strategy<Value = Settlement> {
    prop_oneof![
        4 => Just(Settlement::Success),
        1 => Just(Settlement::Failure),
        2 => due().prop_map(Settlement::Retry),
        2 => option::of(due()).prop_map(Settlement::HandedBack),
        1 => Just(Settlement::Poisoned),
    ]
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        5 => Just(Ending::Kept),
        4 => Just(Ending::Free),
        1 => due().prop_map(Ending::Delayed),
        1 => due().prop_map(Ending::Blocked),
        1 => Just(Ending::Suspended),
        1 => Just(Ending::ContinuedAsNew),
        2 => Just(Ending::Completed),
    ]
}

fn letter() -> impl Strategy<Value = Letter> {
    prop_oneof![
        1 => sent().prop_map(Letter::Start),
        2 => sent().prop_map(Letter::Event),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    let rarely = |percent: u32| proptest::bool::weighted(f64::from(percent) / 100.0);
    let number = || option::weighted(0.3, 0..4_u8);
    let work = (
        collection::vec(queue(), 0..3),
        collection::vec(due(), 0..3),
        number(),
        number(),
        number(),
    );
    let rest = (
        0..4_u8,
        option::weighted(0.4, (instance(), letter())),
        rarely(20),
        ending(),
        rarely(5),
        any::<bool>(),
    );
    (work, rest).prop_map(|(work, rest)| {
        let (activities, timers, cancel_activity, finish_activity, cancel_timer) = work;
        let (consume, message, custom_status, ending, from_wrong_tail, claim) = rest;
        Turn {
            consume,
            activities,
            timers,
            cancel_activity,
            finish_activity,
            cancel_timer,
            message,
            custom_status,
            ending,
            from_wrong_tail,
            claim,
        }
    })
}
