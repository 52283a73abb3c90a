//! Draws programs.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::strategy::BoxedStrategy;

use super::{Join, Node, Program, Select, What};

/// Programs with children and detached programs in them.
pub(crate) fn programs() -> impl Strategy<Value = Program> {
    let leaf = prop_oneof![4 => simple(), 1 => nested()].boxed();
    program(leaf, 4, 24)
}

/// Programs to be run by other programs.
fn small_programs() -> impl Strategy<Value = Program> {
    program(simple(), 2, 6)
}

fn program(leaf: BoxedStrategy<Node>, depth: u32, size: u32) -> impl Strategy<Value = Program> {
    let root = leaf.prop_recursive(depth, size, 4, branches);
    (root, 0_u32..3, any::<bool>()).prop_map(|(root, rounds, fails)| {
        // The end is often just the end.
        Program::new(root, rounds, fails && rounds == 0)
    })
}

fn delays() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(0), Just(1), Just(5), 0_u64..40]
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![Just("red".to_string()), Just("blue".to_string())]
}

fn simple() -> BoxedStrategy<Node> {
    prop_oneof![
        4 => (delays(), any::<bool>()).prop_map(|(delay_ms, fails)| What::Work { delay_ms, fails }),
        2 => delays().prop_map(|delay_ms| What::Sleep { delay_ms }),
        2 => (names(), delays()).prop_map(|(name, patience_ms)| What::Event { name, patience_ms }),
        2 => names().prop_map(|name| What::Take { name }),
        2 => (names(), 1_u8..4, delays()).prop_map(|(name, count, patience_ms)| What::Read {
            name,
            count,
            patience_ms,
        }),
        1 => (any::<bool>(), delays())
            .prop_map(|(resolves, patience_ms)| What::Promise { resolves, patience_ms }),
        2 => (option::of(delays()), any::<bool>())
            .prop_map(|(wait_ms, fails)| What::Run { wait_ms, fails }),
        1 => (0_u8..3, option::of(any::<u64>())).prop_map(|(key, value)| What::State { key, value }),
        1 => any::<Option<u64>>().prop_map(|value| What::Status { value }),
        1 => any::<Option<i64>>().prop_map(|value| What::Attribute { value }),
        1 => names().prop_map(|name| What::Send { name }),
        1 => (names(), any::<bool>())
            .prop_map(|(name, absent)| What::SendAndWait { name, absent }),
        1 => Just(What::Look),
        1 => Just(What::Again),
    ]
    .prop_map(Node::new)
    .boxed()
}

fn nested() -> BoxedStrategy<Node> {
    let program = small_programs().prop_map(Box::new).boxed();
    prop_oneof![
        3 => program.clone().prop_map(|program| What::Child { program }),
        1 => program.prop_map(|program| What::Detach { program }),
    ]
    .prop_map(Node::new)
    .boxed()
}

fn branches(inner: BoxedStrategy<Node>) -> BoxedStrategy<Node> {
    let boxed = inner.clone().prop_map(Box::new).boxed();
    let several = vec(inner, 1..4).boxed();
    let joins = prop_oneof![
        Just(Join::Tokio),
        Just(Join::All),
        Just(Join::Unordered),
        Just(Join::Buffered),
    ];
    let selects = prop_oneof![
        2 => Just(Select::Tokio),
        2 => Just(Select::Futures),
        1 => Just(Select::All),
        1 => Just(Select::Turns),
    ];
    let two = (boxed.clone(), boxed.clone()).boxed();
    prop_oneof![
        3 => several.clone().prop_map(What::Sequence),
        4 => (joins, several.clone()).prop_map(|(how, all)| What::Join { how, all }),
        5 => (selects, several.clone()).prop_map(|(how, any)| What::Select { how, any }),
        2 => (several, boxed.clone()).prop_map(|(any, then)| What::Race { any, then }),
        1 => (1_u8..4, boxed.clone()).prop_map(|(times, body)| What::Repeat { times, body }),
        2 => two.clone().prop_map(|(begun, meanwhile)| What::Park { begun, meanwhile }),
        2 => two.clone().prop_map(|(begun, meanwhile)| What::Abandon { begun, meanwhile }),
        1 => (0_u8..2, two.clone()).prop_map(|(patch, (new, old))| What::Patch { patch, new, old }),
        1 => two.prop_map(|(cancelled, otherwise)| What::OnCancel { cancelled, otherwise }),
        2 => boxed.prop_map(|body| What::Locked { body }),
    ]
    .prop_map(Node::new)
    .boxed()
}
