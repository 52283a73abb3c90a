//! Work that the holder of an instance runs itself: it has no row, and is never lost.
//!
//! What the contract says of such work is checked by the conformance suite and the
//! model, which claim in their commits, too. Here is what the file says.

use std::sync::Arc;

use durable_core::provider::{
    Claim, ClaimedWork, CommitOutcome, Committed, HeartbeatOutcome, IdReuse, InstanceStatus,
    NewWork, Provider, ProviderError, SessionId, SessionOptions, SettleOutcome, SourceEvent,
    TurnCommit, WorkItem, WorkResult, WorkSettlement,
};
use durable_core::{ActivityOptions, Event, EventId, Failure, HistoryEntry};
use durable_provider_sqlite::SqliteProvider;
use durable_testkit::{ManualClock, TurnBuilder, start_message};

use crate::support::{Place, audit};

const NOW_MS: u64 = 1_000;
/// When the sessions of these tests are late.
const LATE_MS: u64 = 100_000;

struct HeldStore {
    place: Place,
    clock: ManualClock,
    provider: SqliteProvider,
    session: SessionId,
}

impl HeldStore {
    async fn new() -> Self {
        let place = Place::new();
        let clock = ManualClock::starting_at(NOW_MS);
        let provider = place.open_at(clock.clone());
        let session = open_session(&provider).await;
        Self {
            place,
            clock,
            provider,
            session,
        }
    }

    /// Starts an instance whose first turn calls these activities and claims them.
    async fn hold(&self, id: &str, activities: usize) -> (TurnCommit, Vec<ClaimedWork>) {
        let turn = self.first_turn(id, activities).await;
        let committed = self.commit(&turn).await;
        assert_eq!(committed.claimed.len(), activities);
        (turn, committed.claimed)
    }

    async fn first_turn(&self, id: &str, activities: usize) -> TurnCommit {
        let (id, message) = (id.into(), start_message(format!("start-{id}")));
        let started = self.provider.start(&id, message, IdReuse::Refuse);
        started.await.map(drop).unwrap();
        let ready = self.provider.fetch_instances(self.session, 9);
        let ready = ready.await.unwrap().instances.remove(0);
        let mut turn = TurnBuilder::new(&ready, NOW_MS)
            .consuming(&ready.messages)
            .started();
        for number in 0..activities {
            turn = turn.activity(format!("charge-{number}"));
        }
        turn.keeping_the_lease().claiming(activities).build()
    }

    async fn commit(&self, turn: &TurnCommit) -> Committed {
        match self.provider.commit(Arc::new(turn.clone())).await {
            Ok(CommitOutcome::Done(committed)) => committed,
            other => panic!("{other:?}"),
        }
    }

    fn rows(&self) -> i64 {
        let count = "SELECT count(*) FROM work";
        let raw = self.place.raw();
        raw.query_row(count, [], |row| row.get(0)).unwrap()
    }

    /// All work that a new session gets after the one that held everything is late.
    async fn found_by_another(&self) -> Vec<ClaimedWork> {
        self.clock.set(LATE_MS);
        let session = open_session(&self.provider).await;
        let work = self.provider.fetch_work(session, &[None], 99);
        work.await.unwrap().work
    }

    async fn status(&self, id: &str) -> InstanceStatus {
        let record = self.provider.instance(&id.into()).await;
        record.unwrap().unwrap().status
    }
}

async fn open_session(provider: &SqliteProvider) -> SessionId {
    let session = provider.open_session(SessionOptions::default());
    session.await.unwrap()
}

/// The work that a turn adds.
fn items(turn: &TurnCommit) -> Vec<WorkItem> {
    let items = turn.new_work.iter().map(|new| turn.work_item(*new));
    items.collect::<Option<_>>().unwrap()
}

#[tokio::test]
async fn steps_that_the_holder_runs_write_no_row_of_work() {
    let store = HeldStore::new().await;
    let (mut turn, mut claimed) = store.hold("order", 1).await;
    for _ in 0..3 {
        assert_eq!(store.rows(), 0);
        turn = TurnBuilder::after(&turn, NOW_MS)
            .finishing_work(&claimed[0].lease.key, "1")
            .activity("charge")
            .keeping_the_lease()
            .claiming(1)
            .build();
        claimed = store.commit(&turn).await.claimed;
        assert_eq!(claimed[0].item, items(&turn)[0]);
    }
    let last = TurnBuilder::after(&turn, NOW_MS)
        .finishing_work(&claimed[0].lease.key, "1")
        .completed("1")
        .build();
    store.commit(&last).await;
    assert_eq!(store.rows(), 0);
    assert_eq!(store.found_by_another().await, []);
    audit(&store.provider).await;
}

#[tokio::test]
async fn work_of_a_holder_that_died_is_found_as_it_was_scheduled() {
    let store = HeldStore::new().await;
    let (turn, claimed) = store.hold("order", 3).await;
    let next = TurnBuilder::after(&turn, NOW_MS)
        .finishing_work(&claimed[1].lease.key, "1")
        .keeping_the_lease()
        .build();
    store.commit(&next).await;
    let found = store.found_by_another().await;
    let found_items: Vec<_> = found.iter().map(|work| &work.item).collect();
    let scheduled = items(&turn);
    assert_eq!(found_items, [&scheduled[0], &scheduled[2]]);
    for (work, before) in found.iter().zip([&claimed[0], &claimed[2]]) {
        assert_eq!((work.attempt, work.crashes), (1, 1));
        assert!(work.lease.token > before.lease.token);
    }
}

#[tokio::test]
async fn more_work_than_fits_inline_has_rows() {
    let store = HeldStore::new().await;
    let (turn, _) = store.hold("order", 20).await;
    assert_eq!(store.rows(), 4);
    let found = store.found_by_another().await;
    let mut events: Vec<_> = found.iter().map(|work| work.item.key.event_id).collect();
    events.sort_unstable();
    let scheduled = turn.new_work.iter().map(|new| new.source.event_id);
    assert_eq!(events, scheduled.collect::<Vec<_>>());
}

/// Calls an activity in the first turn of the next execution.
fn call_in_next_execution(turn: &mut TurnCommit) {
    let next = turn.next_execution.as_mut().unwrap();
    let source = SourceEvent::new(next.execution_id, EventId::new(2));
    next.events.push(HistoryEntry::new(
        NOW_MS,
        Event::ActivityScheduled {
            event_id: source.event_id,
            execution_id: source.execution_id,
            name: "charge".into(),
            input: "{}".into(),
            options: ActivityOptions::default(),
        },
    ));
    turn.new_work.push(NewWork::new(source, 0));
}

#[tokio::test]
async fn inline_work_is_that_of_the_current_execution() {
    let store = HeldStore::new().await;
    let (turn, claimed) = store.hold("order", 2).await;
    let mut next = TurnBuilder::after(&turn, NOW_MS)
        .finishing_work(&claimed[0].lease.key, "1")
        .continued_as_new()
        .keeping_the_lease()
        .claiming(1)
        .build();
    call_in_next_execution(&mut next);
    let begun = store.commit(&next).await.claimed;
    assert_eq!(begun[0].item, items(&next)[0]);
    assert_eq!(
        store.rows(),
        1,
        "of the execution before, what is not finished"
    );
    let found = store.found_by_another().await;
    let found_items: Vec<_> = found.iter().map(|work| work.item.clone()).collect();
    let [open, begun] = [claimed[1].item.clone(), begun[0].item.clone()];
    assert_eq!(found_items, [open, begun]);
}

#[tokio::test]
async fn a_heartbeat_and_a_retry_give_work_a_row() {
    let store = HeldStore::new().await;
    let (_, claimed) = store.hold("order", 2).await;
    let lease = &claimed[0].lease;
    let beat = store.provider.heartbeat_work(lease, "\"half\"".into());
    assert_eq!(beat.await, Ok(HeartbeatOutcome::Kept));
    assert_eq!(store.rows(), 1);
    for work in &claimed {
        let retry = WorkResult::Retry {
            failure: Failure::application("busy", "later"),
            not_before_ms: NOW_MS,
        };
        let settlement = WorkSettlement::new(work.lease.clone(), retry);
        let settled = store.provider.settle_work(settlement).await;
        assert_eq!(settled, Ok(SettleOutcome::Settled));
    }
    let again = store.provider.fetch_work(store.session, &[None], 9);
    let again = again.await.unwrap().work;
    let told: Vec<_> = again
        .iter()
        .map(|work| (work.attempt, work.crashes, work.heartbeat.as_deref()))
        .collect();
    assert_eq!(told, [(2, 0, Some("\"half\"")), (2, 0, None)]);
    let items: Vec<_> = again.iter().map(|work| &work.item).collect();
    assert_eq!(items, [&claimed[0].item, &claimed[1].item]);
}

#[tokio::test]
async fn inline_work_that_cannot_be_read_stops_its_instance_and_no_other() {
    let store = HeldStore::new().await;
    let (damaged, claimed) = store.hold("damaged", 1).await;
    let (sound, _) = store.hold("sound", 1).await;
    let cut = "UPDATE instance SET inline_work = substr(inline_work, 2) WHERE key = (SELECT key FROM record WHERE id = 'damaged')";
    assert_eq!(store.place.raw().execute(cut, []).unwrap(), 1);
    let next = TurnBuilder::after(&damaged, NOW_MS)
        .finishing_work(&claimed[0].lease.key, "1")
        .keeping_the_lease()
        .build();
    let refused = store.provider.commit(Arc::new(next)).await;
    let Err(ProviderError::Damaged { reason }) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.contains("`damaged`"), "{reason}");
    let found = store.found_by_another().await;
    let found_items: Vec<_> = found.iter().map(|work| &work.item).collect();
    assert_eq!(found_items, [&items(&sound)[0]]);
    let InstanceStatus::Suspended { failure } = store.status("damaged").await else {
        panic!("it is suspended");
    };
    assert!(failure.message.contains("`damaged`"), "{failure}");
    assert_eq!(store.status("sound").await, InstanceStatus::Running);
}

#[tokio::test]
async fn work_whose_event_is_damaged_stops_its_instance_and_no_other() {
    let store = HeldStore::new().await;
    store.hold("damaged", 1).await;
    let (sound, _) = store.hold("sound", 1).await;
    let flip = "UPDATE history SET entry = CAST(x'7f' || substr(entry, 2) AS BLOB) WHERE event_id = 2 AND instance_key = (SELECT key FROM record WHERE id = 'damaged')";
    assert_eq!(store.place.raw().execute(flip, []).unwrap(), 1);
    let found = store.found_by_another().await;
    let found_items: Vec<_> = found.iter().map(|work| &work.item).collect();
    assert_eq!(found_items, [&items(&sound)[0]]);
    let InstanceStatus::Suspended { failure } = store.status("damaged").await else {
        panic!("it is suspended");
    };
    assert!(failure.message.contains("`damaged`"), "{failure}");
}

#[tokio::test]
async fn a_turn_that_finds_work_of_its_own_instance_damaged_is_applied_and_suspends_it() {
    let store = HeldStore::new().await;
    let mut turn = store.first_turn("damaged", 2).await;
    turn.claim = Claim::default();
    store.commit(&turn).await;
    assert_eq!(store.rows(), 2);
    let flip =
        "UPDATE history SET entry = CAST(x'7f' || substr(entry, 2) AS BLOB) WHERE event_id = 2";
    assert_eq!(store.place.raw().execute(flip, []).unwrap(), 1);
    let next = TurnBuilder::after(&turn, NOW_MS)
        .activity("charge")
        .keeping_the_lease()
        .claiming(9)
        .build();
    let claimed = store.commit(&next).await.claimed;
    let claimed: Vec<_> = claimed.into_iter().map(|work| work.item).collect();
    assert_eq!(claimed, [items(&turn).remove(1), items(&next).remove(0)]);
    let InstanceStatus::Suspended { failure } = store.status("damaged").await else {
        panic!("it is suspended");
    };
    let named = "`damaged`, execution 1, event 2: ";
    assert!(failure.message.contains(named), "{failure}");
    let later = TurnBuilder::after(&next, NOW_MS).completed("1").build();
    let fenced = store.provider.commit(Arc::new(later)).await;
    assert_eq!(fenced, Ok(CommitOutcome::Fenced));
}
