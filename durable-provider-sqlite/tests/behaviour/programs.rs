//! Random programs on a real file: two nodes share it, both die in the middle, others
//! take over; everything ends, and every history replays.

use std::time::Duration;

use durable_core::filter::Filter;
use durable_core::provider::StatusKind;
use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{Runtime, RuntimeOptions};
use durable_testkit::ReplayTester;
use durable_testkit::strategy::{PROGRAM, Program, any_program, program_registry};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::support::{Place, audit, records};

const PROGRAMS: usize = 200;

/// The same programs every time.
fn programs() -> Vec<Program> {
    let mut runner = TestRunner::deterministic();
    (0..PROGRAMS)
        .map(|_| any_program().new_tree(&mut runner).unwrap().current())
        .collect()
}

/// A node that forgets what it does not run, so that many turns begin with a replay.
async fn node(provider: &SqliteProvider) -> Runtime {
    let options = RuntimeOptions::default()
        .cached_executions(4)
        .session_timeout(Duration::from_secs(3_600));
    Runtime::builder(provider.clone(), program_registry().unwrap())
        .options(options)
        .start()
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_programs_end_and_replay_after_their_nodes_died() {
    let place = Place::new();
    let id = |number: usize| format!("program-{number:03}");
    let first = place.open();
    let second = place.open();
    let nodes = (node(&first).await, node(&second).await);
    let mut handles = Vec::new();
    for (number, program) in programs().iter().enumerate() {
        let start = nodes.0.client().start(PROGRAM, id(number), program);
        handles.push(start.await.unwrap());
    }
    handles[PROGRAMS / 4].wait().await.unwrap();
    // As a crash would: nothing is handed back.
    drop((nodes, handles));
    while first.handles() + second.handles() > 2 {
        tokio::task::yield_now().await;
    }
    drop((first, second));

    let provider = place.open();
    audit(&provider).await;
    let runtime = node(&provider).await;
    for number in 0..PROGRAMS {
        let instance = runtime.client().instance(PROGRAM, id(number));
        assert!(!instance.wait().await.unwrap().is_empty(), "{}", id(number));
    }
    // Children that lost a race are cancelled, and end by themselves.
    let all = records(&provider).await;
    assert!(all.len() > PROGRAMS, "some have children");
    for record in &all {
        let instance = runtime.client().instance(PROGRAM, record.instance.clone());
        let _ = instance.wait().await;
        let status = instance.record().await.unwrap().status;
        let ends = [StatusKind::Completed, StatusKind::Failed];
        assert!(
            ends.contains(&status.kind()),
            "{}: {status:?}",
            record.instance
        );
    }
    runtime.shutdown(Duration::from_secs(5)).await;
    audit(&provider).await;
    let tester = ReplayTester::new(program_registry().unwrap());
    let report = tester
        .filter(Filter::all())
        .run_store(&provider)
        .await
        .unwrap();
    report.assert_ok();
    assert_eq!(report.replays.len(), all.len());
}
