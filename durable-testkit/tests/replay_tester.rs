//! The replay tester: what it says of histories, files and stores.
#![cfg(test)]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use durable_core::filter::Filter;
use durable_core::{EventId, History};
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry, Runtime,
};
use durable_testkit::{
    HistoryBuilder, MemoryProvider, ReplayOutcome, ReplayReport, ReplaySource, ReplayTester,
    TokioClock, export_histories, read_histories, write_histories,
};

const CHARGE: Activity<u64, String> = Activity::new("charge");
const SHIP: Activity<String, String> = Activity::new("ship");
const FULFIL: Orchestration<u64, String> = Orchestration::new("fulfil");
const NAP: Orchestration<u64, u64> = Orchestration::new("nap");

async fn fulfil(ctx: OrchestrationContext, order: u64) -> Result<String, Failure> {
    let receipt = ctx.activity(CHARGE, &order).await?;
    assert_ne!(receipt, "forged", "no such receipt");
    ctx.activity(SHIP, &receipt).await
}

async fn nap(ctx: OrchestrationContext, days: u64) -> Result<u64, Failure> {
    ctx.sleep(Duration::from_secs(days * 86_400)).await?;
    Ok(days)
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(FULFIL, fulfil)
        .orchestration(NAP, nap)
        .activity(CHARGE, |_: ActivityContext, order: u64| async move {
            Ok::<_, Failure>(format!("receipt of {order}"))
        })
        .activity(SHIP, |_: ActivityContext, receipt: String| async move {
            Ok::<_, Failure>(receipt)
        })
        .build()
        .unwrap()
}

fn charged() -> HistoryBuilder {
    HistoryBuilder::new("order-7")
        .started("fulfil", &7)
        .activity("charge", &7)
        .completed(2, "paid")
}

fn outcome(history: History) -> ReplayOutcome {
    let report = ReplayTester::new(registry()).history(history).run();
    assert_eq!(report.replays.len(), 1);
    report.replays[0].outcome.clone()
}

#[test]
fn code_that_does_what_is_recorded_is_ok() {
    let whole = charged()
        .activity("ship", "paid")
        .completed(4, "sent")
        .returned("sent");
    assert_eq!(outcome(whole.build().unwrap()), ReplayOutcome::Ok);
    let waiting = charged().activity("ship", "paid");
    assert_eq!(outcome(waiting.build().unwrap()), ReplayOutcome::Ok);
}

#[test]
fn code_that_goes_on_where_the_history_ends_is_extended() {
    let expected = ReplayOutcome::Extended {
        appended: vec!["ActivityScheduled `ship`".into()],
    };
    assert_eq!(outcome(charged().build().unwrap()), expected);
    assert!(expected.is_ok());
}

#[test]
fn code_that_does_something_else_is_a_violation_with_event_command_and_hint() {
    let history = charged().activity("pack", "paid").build().unwrap();
    let outcome = outcome(history);
    let ReplayOutcome::Violation {
        event_id,
        command_id,
        recorded,
        code,
        hint,
        ..
    } = &outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!(*event_id, EventId::new(4));
    assert_eq!(command_id.as_deref(), Some("Activity(1)"));
    assert_eq!(recorded, "ActivityScheduled `pack`");
    assert_eq!(code.as_deref(), Some("ActivityScheduled `ship`"));
    assert!(hint.contains("renamed"), "{hint}");
    assert!(!outcome.is_ok());
}

#[test]
fn a_history_that_cannot_be_is_corrupt_at_its_event() {
    let history = charged()
        .activity("ship", "paid")
        .completed(2, "paid")
        .build_unchecked();
    let outcome = outcome(history);
    assert!(
        matches!(&outcome, ReplayOutcome::Corrupt { event_id, .. } if event_id.get() == 5),
        "{outcome:?}"
    );
}

#[test]
fn code_that_is_not_there_is_named_with_its_version() {
    let history = HistoryBuilder::new("order-7")
        .version("2.0.0")
        .started("fulfil", &7);
    assert_eq!(
        outcome(history.build().unwrap()).to_string(),
        "orchestration `fulfil` 2.0.0 is not registered"
    );
}

#[test]
fn code_that_panics_is_reported_with_the_event_before() {
    let history = HistoryBuilder::new("order-7")
        .started("fulfil", &7)
        .activity("charge", &7)
        .completed(2, "forged")
        .build()
        .unwrap();
    let outcome = outcome(history);
    let ReplayOutcome::Panicked { after, message } = &outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(after.get(), 3);
    assert!(message.contains("no such receipt"), "{message}");
}

#[test]
fn a_folder_is_replayed_file_by_file_and_a_bad_file_is_an_entry_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    write_histories(
        file("b.json"),
        &[charged().activity("ship", "paid").build().unwrap()],
    )
    .unwrap();
    fs::write(file("a.json"), "{ \"instance\": 7 }").unwrap();
    fs::write(file("c.json"), "[]").unwrap();
    fs::write(file("notes.txt"), "not looked at").unwrap();

    let report = ReplayTester::new(registry()).folder(folder.path()).run();
    let oks: Vec<bool> = report
        .replays
        .iter()
        .map(|entry| entry.outcome.is_ok())
        .collect();
    assert_eq!(oks, [false, true, false]);
    assert_eq!(report.replays[0].source, ReplaySource::File(file("a.json")));
    let reason = report.replays[0].outcome.to_string();
    assert!(
        reason.starts_with("not a history: invalid type: integer `7`"),
        "{reason}"
    );
    assert_eq!(
        report.replays[2].outcome.to_string(),
        "the file has no history"
    );
    let text = report.to_string();
    assert!(
        text.starts_with("replay: 1 histories go on, 2 do not\n"),
        "{text}"
    );
    assert!(text.contains("a.json: not a history"), "{text}");
}

#[test]
fn a_folder_that_is_not_there_or_is_empty_does_not_pass() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_path_buf(), folder.path().join("nowhere")] {
        let report = ReplayTester::new(registry()).folder(&path).run();
        assert_eq!(report.failures().count(), 1, "{report}");
    }
}

#[test]
#[should_panic(expected = "Activity(1)")]
fn asserting_panics_with_the_report() {
    let history = charged().activity("pack", "paid").build().unwrap();
    ReplayTester::new(registry())
        .history(history)
        .run()
        .assert_ok();
}

#[test]
fn a_report_can_be_stored_and_read_again() {
    let report = ReplayTester::new(registry())
        .history(charged().build().unwrap())
        .history(charged().activity("pack", "paid").build().unwrap())
        .file("nowhere.json")
        .run();
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<ReplayReport>(&json).unwrap(), report);
}

#[tokio::test(start_paused = true)]
async fn the_live_instances_of_a_store_are_replayed_and_exported() {
    let store = Arc::new(MemoryProvider::with_clock(TokioClock::starting_at(1_000)));
    let node = Runtime::builder(store.clone(), registry())
        .start()
        .await
        .unwrap();
    let client = node.client();
    let fulfilled = client.start(FULFIL, "order-7", &7).await.unwrap();
    assert_eq!(fulfilled.wait().await.unwrap(), "receipt of 7");
    let asleep = client.start(NAP, "nap-1", &30).await.unwrap();
    let is_asleep =
        |record: &durable_core::provider::InstanceRecord| record.last_event_id.get() == 2;
    asleep.wait_until(is_asleep).await.unwrap();
    node.shutdown(Duration::from_secs(1)).await;
    let not_run = client.start("unknown", "lost-1", &1).await;
    let _: durable_runtime::InstanceHandle<()> = not_run.unwrap();

    let report = ReplayTester::new(registry())
        .run_store(&*store)
        .await
        .unwrap();
    let found: Vec<String> = report.replays.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "`lost-1`, execution 1: orchestration `unknown` is not registered",
            "`nap-1`, execution 1: ok",
        ]
    );

    let everything = ReplayTester::new(registry()).filter(Filter::all());
    let report = everything.run_store(&*store).await.unwrap();
    assert_eq!(report.replays.len(), 3);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order-7.json");
    let histories = export_histories(&*store, fulfilled.id()).await.unwrap();
    write_histories(&path, &histories).unwrap();
    assert_eq!(read_histories(&path).unwrap(), histories);
    let report = ReplayTester::new(registry()).file(&path).run();
    report.assert_ok();
    assert_eq!(report.replays[0].events, 6);
}
