//! Random programs run live, with random things happening to them, and replayed at
//! every commit: both agree exactly.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use durable_core::EventKind;
use durable_core::filter::{InstanceQuery, Order};
use durable_core::provider::{InstanceStatus, Provider};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::program::Program;
use crate::program::interpret::{PROGRAM, Task, registry};
use crate::program::strategy::programs;
use crate::world::{World, forgetful, options, settled, shown};

/// One run: a program and what happens to it.
#[derive(Debug, Clone)]
struct Case {
    program: Program,
    outside: Vec<(u64, Happening)>,
    /// Whether every turn begins with a replay.
    is_forgetful: bool,
    /// When the node is replaced.
    restart_ms: Option<u64>,
}

#[derive(Debug, Clone)]
enum Happening {
    /// The event of that index is raised.
    Raise(usize),
    /// A request of that index is made.
    Request(usize),
    Cancel,
    Terminate,
}

fn cases() -> impl Strategy<Value = Case> {
    let happening = prop_oneof![
        8 => any::<usize>().prop_map(Happening::Raise),
        8 => any::<usize>().prop_map(Happening::Request),
        2 => proptest::strategy::Just(Happening::Cancel),
        1 => proptest::strategy::Just(Happening::Terminate),
    ];
    let times = prop_oneof![0_u64..10, 0_u64..5_000];
    (
        programs(),
        vec((times, happening), 0..6),
        any::<bool>(),
        option::weighted(0.3, 0_u64..3_000),
    )
        .prop_map(|(program, outside, is_forgetful, restart_ms)| Case {
            program,
            outside,
            is_forgetful,
            restart_ms,
        })
}

/// Runs a case in a world of its own and replays everything in it; the kinds of
/// the events that happened.
fn check(case: &Case) -> BTreeSet<EventKind> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(run(case))
}

async fn run(case: &Case) -> BTreeSet<EventKind> {
    let options = if case.is_forgetful {
        forgetful()
    } else {
        options()
    };
    let mut world = World::with(registry().build().unwrap(), options).await;
    let task = Task {
        id: 0,
        program: case.program.clone(),
    };
    let instance = world.client().start(PROGRAM, "i", &task).await.unwrap();
    let names = case.program.event_names();
    let requests = case.program.request_names();
    for (delay_ms, happening) in case.outside.clone() {
        let (instance, names, requests) = (instance.clone(), names.clone(), requests.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            // It may have ended already.
            let _ = match happening {
                Happening::Raise(index) => match names.get(index % names.len().max(1)) {
                    Some(name) => instance.raise(&**name, &(index as u64)).await,
                    None => Ok(()),
                },
                Happening::Request(index) => {
                    if let Some(name) = requests.get(index % requests.len().max(1)) {
                        let request = instance.request::<u64, u64, String>(&**name, &7);
                        let _ = request.timeout(Duration::from_secs(60)).await;
                    }
                    Ok(())
                }
                Happening::Cancel => instance.cancel("enough").await,
                Happening::Terminate => instance.terminate("at once").await,
            };
        });
    }
    if let Some(restart_ms) = case.restart_ms {
        tokio::time::sleep(Duration::from_millis(restart_ms)).await;
        world.restart().await;
    }
    settled(&instance).await;
    // What it has started ends too.
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    world.stop().await;
    expect_all_ended(&world).await;
    world.check_all().await;
    world.check_every_prefix(&world.history(instance.id(), 1).await);
    let histories = world.histories().await;
    let entries = histories.iter().flat_map(|history| &history.entries);
    entries.map(|entry| entry.event.kind()).collect()
}

async fn expect_all_ended(world: &World) {
    let query = InstanceQuery::all().ordered(Order::BY_ID);
    let page = world
        .provider
        .instances(&query, None, usize::MAX)
        .await
        .unwrap();
    for record in page.instances {
        let has_ended = matches!(
            record.status,
            InstanceStatus::Completed { .. }
                | InstanceStatus::Failed { .. }
                | InstanceStatus::Terminated { .. }
        );
        if !has_ended {
            let execution = record.execution_id.get();
            let history = world.history(&record.instance, execution).await;
            panic!("{:?}\n{}", record.status, shown(&history));
        }
    }
}

#[test]
fn random_programs_replay_exactly_at_every_commit() {
    let cases_wanted = std::env::var("PROGRAM_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(250);
    let mut runner = TestRunner::new(Config {
        cases: cases_wanted,
        max_shrink_iters: 2_000,
        failure_persistence: None,
        ..Config::default()
    });
    let happened = Mutex::new(BTreeSet::new());
    let outcome = runner.run(&cases(), |case| {
        let check = std::panic::AssertUnwindSafe(|| check(&case));
        let kinds = std::panic::catch_unwind(check).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            TestCaseError::fail(text.unwrap_or_else(|| "it panicked".into()))
        })?;
        happened.lock().unwrap().extend(kinds);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let happened = happened.into_inner().unwrap();
    let missing: Vec<_> = EventKind::ALL
        .iter()
        .filter(|kind| !happened.contains(kind))
        .collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}
