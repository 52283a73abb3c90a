//! The history builder and the public strategies.
#![cfg(test)]

use std::collections::BTreeMap;
use std::time::Duration;

use durable_core::{
    Event, EventId, EventKind, ExecutionId, Failure, HistoryFault, SourceFault, decode_entry,
    encode_entry,
};
use durable_testkit::strategy::{any_entry, any_event_of, valid_history};
use durable_testkit::{HistoryBuildError, HistoryBuilder};
use proptest::prelude::*;

#[test]
fn positions_follow_the_calls_and_times_never_fall() {
    let history = HistoryBuilder::new("order-7")
        .at_ms(1_000)
        .started("fulfil", &7)
        .timer(Duration::from_secs(60))
        .activity("charge", &7)
        .later(Duration::from_secs(1))
        .completed(3, &"paid")
        .fired(2)
        .returned(&())
        .build()
        .unwrap();
    let times: Vec<(u64, u64)> = history
        .entries
        .iter()
        .map(|entry| (entry.event_id().get(), entry.recorded_at_ms))
        .collect();
    let expected = [
        (1, 1_000),
        (2, 1_000),
        (3, 1_000),
        (4, 2_000),
        (5, 61_000),
        (6, 61_000),
    ];
    assert_eq!(times, expected);
    assert_eq!(history.execution_id, ExecutionId::FIRST);
}

#[test]
fn an_answer_takes_its_kind_from_what_it_answers() {
    let refused = || Failure::application("refused", "no");
    let history = HistoryBuilder::new("order-7")
        .started("fulfil", &7)
        .activity("charge", &7)
        .child("ship", &7)
        .promise("approval")
        .activity("remind", &7)
        .child_as("invoice", "invoice-7", &7)
        .promise("signature")
        .completed(2, &1)
        .completed(3, &2)
        .completed(4, &3)
        .failed(5, refused())
        .failed(6, refused())
        .failed(7, refused())
        .build()
        .unwrap();
    let kinds: Vec<EventKind> = history
        .entries
        .iter()
        .map(|entry| entry.event.kind())
        .collect();
    assert_eq!(
        kinds[7..],
        [
            EventKind::ActivityCompleted,
            EventKind::SubOrchestrationCompleted,
            EventKind::PromiseResolved,
            EventKind::ActivityFailed,
            EventKind::SubOrchestrationFailed,
            EventKind::PromiseRejected,
        ]
    );
    let Event::SubOrchestrationScheduled { instance, .. } = &history.entries[2].event else {
        panic!("{:?}", history.entries[2]);
    };
    assert_eq!(*instance, "order-7/1/3");
}

#[test]
fn what_no_run_can_have_written_is_refused_with_its_event() {
    let twice = HistoryBuilder::new("order-7")
        .started("fulfil", &7)
        .activity("charge", &7)
        .completed(2, &1)
        .completed(2, &1);
    let Err(HistoryBuildError::Corrupt(corruption)) = twice.clone().build() else {
        panic!("{twice:?}");
    };
    assert_eq!(corruption.event_id, EventId::new(4));
    assert_eq!(
        corruption.fault,
        HistoryFault::BadSource {
            source_event_id: EventId::new(2),
            expected: EventKind::ActivityScheduled,
            found: SourceFault::AlreadyCompleted,
        }
    );
    assert_eq!(twice.build_unchecked().entries.len(), 4);
}

#[test]
fn a_value_that_is_no_json_is_refused_with_its_event() {
    let pairs = BTreeMap::from([((1, 2), 3)]);
    let error = HistoryBuilder::new("order-7")
        .started("fulfil", &7)
        .activity("charge", &pairs)
        .build()
        .unwrap_err();
    let HistoryBuildError::InvalidValue { event_id, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(event_id, EventId::new(2));
}

#[test]
fn every_kind_of_event_has_a_strategy() {
    for kind in EventKind::ALL {
        assert!(any_event_of(*kind).is_some(), "{kind}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_valid_history_is_valid_and_so_is_every_prefix(mut history in valid_history()) {
        while !history.entries.is_empty() {
            prop_assert_eq!(history.validate(), Ok(()));
            history.entries.pop();
        }
    }

    #[test]
    fn any_entry_survives_its_bytes_and_its_json(entry in any_entry()) {
        let bytes = encode_entry(&entry).unwrap();
        prop_assert_eq!(&decode_entry(&bytes).unwrap(), &entry);
        let json = serde_json::to_string(&entry).unwrap();
        prop_assert_eq!(serde_json::from_str::<durable_core::HistoryEntry>(&json).unwrap(), entry);
    }
}
