//! The same code with its futures at other addresses: what one wrote replays in the other,
//! wherever branches are named.
//!
//! The futures lie in an array, whose layout is no choice of the compiler, and an order
//! says which branch has which. All are made in one place, so that nothing but their
//! branches and their addresses tells them apart.

use std::fmt::Debug;
use std::future::{Future, pending};
use std::time::Duration;

use durable_core::History;
use durable_runtime::{
    EventName, Failure, Orchestration, OrchestrationContext, Registry, ReplayFailure, Replayer,
    join, join_all, select, select_all, try_join,
};
use serde::{Deserialize, Serialize};

use crate::scenario::{Log, WORK, Work, workers};
use crate::world::{World, options, shown};

const FLOW: Orchestration<Setup, Log> = Orchestration::new("flow");
const GO: EventName<u64> = EventName::new("go");

/// For each branch the place of its first future in memory.
type Order = [usize; 4];

const AS_WRITTEN: Order = [0, 1, 2, 3];
const MIXED: Order = [2, 0, 3, 1];

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Setup {
    way: Way,
    first: First,
}

/// What waits for the branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Way {
    Join,
    TryJoin,
    Select,
    JoinAll,
    SelectAll,
    Nested,
    TokioNamed,
    Tokio,
}

/// What each branch begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum First {
    Event,
    Sleep,
    Activity,
}

const FIRSTS: [First; 3] = [First::Event, First::Sleep, First::Activity];

/// The code, with its futures in this order in memory.
fn registry(order: Order) -> Registry {
    let code = move |ctx: OrchestrationContext, setup: Setup| async move {
        let way = setup.way;
        match setup.first {
            First::Event => flow(&ctx, way, order, || ctx.external_event(GO)).await,
            First::Sleep => flow(&ctx, way, order, || ctx.sleep(Duration::from_secs(1))).await,
            First::Activity => flow(&ctx, way, order, || ctx.activity(WORK, &begin())).await,
        }
    };
    workers().orchestration(FLOW, code).build().unwrap()
}

fn begin() -> Work {
    Work {
        tag: "begin".into(),
        delay_ms: 5,
        fails: false,
    }
}

async fn flow<F, T>(
    ctx: &OrchestrationContext,
    way: Way,
    order: Order,
    make: impl Fn() -> F + Send,
) -> Result<Log, Failure>
where
    F: Future<Output = Result<T, Failure>> + Unpin + Send,
    T: Debug + Send,
{
    let mut slots: [F; 4] = std::array::from_fn(|_| make());
    let mut slots = slots.each_mut().map(Some);
    let mut branch = |number: usize| on(ctx, number, slots[order[number]].take().unwrap());
    let (a, b, c, d) = (branch(0), branch(1), branch(2), branch(3));
    let done = match way {
        Way::Join => <[_; 4]>::from(join!(a, b, c, d)).into(),
        Way::TryJoin => return Ok(<[_; 4]>::from(try_join!(a, b, c, d)?).into()),
        Way::Select => {
            vec![select! { done = a => done, done = b => done, done = c => done, done = d => done }]
        }
        Way::JoinAll => join_all([a, b, c, d]).await,
        Way::SelectAll => vec![select_all([a, b, c, d]).await.1],
        Way::Nested => {
            let (first, rest) = join!(async { join!(a, b) }, async {
                let never = async { vec![pending().await] };
                select! { done = join_all([c, d]) => done, done = never => done }
            });
            [first.0, first.1].into_iter().chain(rest).collect()
        }
        Way::TokioNamed => {
            let (a, b) = (ctx.branch("a", a), ctx.branch("b", b));
            let (c, d) = (ctx.branch("c", c), ctx.branch("d", d));
            <[_; 4]>::from(tokio::join!(a, b, c, d)).into()
        }
        Way::Tokio => <[_; 4]>::from(tokio::join!(a, b, c, d)).into(),
    };
    done.into_iter().collect()
}

/// A branch: what comes first lies elsewhere in memory.
async fn on<T: Debug>(
    ctx: &OrchestrationContext,
    number: usize,
    first: &mut (impl Future<Output = Result<T, Failure>> + Unpin),
) -> Result<String, Failure> {
    let got = first.await?;
    let work = Work {
        tag: format!("{number} got {got:?}"),
        delay_ms: 5,
        fails: false,
    };
    ctx.activity(WORK, &work).await
}

/// Every order.
fn orders() -> Vec<Order> {
    let digits = |number: usize| [number / 64 % 4, number / 16 % 4, number / 4 % 4, number % 4];
    let is_order = |order: &Order| (0..4).all(|place| order.contains(&place));
    (0..256).map(digits).filter(is_order).collect()
}

/// Runs the code with its futures in this order, and checks its replays.
async fn recorded(setup: Setup, order: Order) -> History {
    let mut world = World::with(registry(order), options()).await;
    let instance = world.client().start(FLOW, "flow", &setup).await.unwrap();
    if setup.first == First::Event {
        for value in 0..4 {
            instance.raise(GO, &value).await.unwrap();
        }
    }
    instance.wait().await.unwrap();
    world.stop().await;
    world.check_all().await;
    world.history(instance.id(), 1).await
}

/// The orders whose code does not replay this history.
fn refused(history: &History) -> Vec<(Order, ReplayFailure)> {
    let replay = |order| {
        let replayed = Replayer::new(registry(order)).replay(history);
        match replayed {
            Ok(replayed) => {
                assert!(replayed.is_exact(), "{order:?}\n{}", shown(history));
                None
            }
            Err(failure) => Some((order, failure)),
        }
    };
    orders().into_iter().filter_map(replay).collect()
}

#[tokio::test(start_paused = true)]
async fn where_branches_are_named_addresses_decide_nothing() {
    let ways = [
        Way::Join,
        Way::TryJoin,
        Way::Select,
        Way::JoinAll,
        Way::SelectAll,
        Way::Nested,
        Way::TokioNamed,
    ];
    for way in ways {
        for first in FIRSTS {
            for order in [AS_WRITTEN, MIXED] {
                let history = recorded(Setup { way, first }, order).await;
                let refused = refused(&history);
                let shown = shown(&history);
                assert!(
                    refused.is_empty(),
                    "{way:?} {first:?}: {refused:?}\n{shown}"
                );
            }
        }
    }
}

/// The proof that the orders above are orders in memory; and what the guide warns of.
#[tokio::test(start_paused = true)]
async fn where_they_are_not_named_addresses_tell_equal_commands_from_one_place_apart() {
    for first in FIRSTS {
        for order in [AS_WRITTEN, MIXED] {
            let way = Way::Tokio;
            let history = recorded(Setup { way, first }, order).await;
            let refused = refused(&history);
            assert_eq!(refused.len(), orders().len() - 1, "{first:?} {refused:?}");
            assert!(refused.iter().all(|(refused, failure)| {
                *refused != order && matches!(failure, ReplayFailure::Violation(_))
            }));
        }
    }
}
