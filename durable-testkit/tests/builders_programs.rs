//! Random programs run, and what they leave behind replays.
#![cfg(test)]

use std::time::Duration;

use durable_core::filter::{InstanceQuery, Order};
use durable_core::provider::Provider;
use durable_core::{EventId, History};
use durable_runtime::Replayer;
use durable_testkit::strategy::{PROGRAM, Program, any_program, program_registry};
use durable_testkit::{ReplayTester, TestEnvironment, export_histories};
use proptest::prelude::*;

/// Runs a program, with a crash after this event; everything that it left behind.
fn run(program: &Program, crash_after: u64) -> Vec<History> {
    let environment = TestEnvironment::builder(program_registry().unwrap());
    environment
        .wait_timeout(Duration::from_secs(3_600))
        .run(async |env| {
            env.crash_after(EventId::new(crash_after));
            let instance = env.start(PROGRAM, "program", program).await.unwrap();
            if let Err(error) = env.wait(&instance).await {
                panic!("{error}");
            }
            env.settle().await;
            let query = InstanceQuery::all().ordered(Order::BY_ID);
            let page = env.store().instances(&query, None, usize::MAX).await;
            let mut histories = Vec::new();
            for record in page.unwrap().instances {
                histories.extend(
                    export_histories(env.store(), &record.instance)
                        .await
                        .unwrap(),
                );
            }
            histories
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_program_did_across_a_crash_is_valid_and_replays(
        program in any_program(),
        crash_after in 1_u64..12,
    ) {
        let histories = run(&program, crash_after);
        prop_assert!(!histories.is_empty());
        let replayer = Replayer::new(program_registry().unwrap());
        let mut tester = ReplayTester::new(program_registry().unwrap());
        for history in histories {
            prop_assert_eq!(history.validate(), Ok(()));
            for last in 1..=history.entries.len() as u64 {
                let prefix = replayer.replay_up_to(&history, EventId::new(last));
                prop_assert!(prefix.is_ok(), "up to event {}: {:?}", last, prefix);
            }
            tester = tester.history(history);
        }
        let report = tester.run();
        prop_assert!(report.is_ok(), "{}", report);
    }
}
