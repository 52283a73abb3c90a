//! What only the in-memory provider shows: its snapshot.

use std::sync::Arc;

use durable_core::provider::{
    IdReuse, OutgoingMessage, Provider, ProviderError, SendOutcome, SessionId, SessionOptions,
    SettleOutcome, StatusKind, WorkResult, WorkSettlement,
};
use durable_core::{Failure, FailureKind};
use durable_testkit::{
    ManualClock, MemoryProvider, Snapshot, TurnBuilder, event_message, start_message,
};

const NOW_MS: u64 = 1_000;

fn clock() -> ManualClock {
    ManualClock::starting_at(NOW_MS)
}

/// A store with an instance `a` that called two activities, one of them claimed.
async fn busy_store(clock: &ManualClock) -> Result<(MemoryProvider, SessionId), ProviderError> {
    let store = MemoryProvider::with_clock(clock.clone());
    let session = store.open_session(SessionOptions::default()).await?;
    let _ = store
        .start(&"a".into(), start_message("s"), IdReuse::Refuse)
        .await?;
    let mut ready = store.fetch_instances(session, 1).await?;
    let ready = ready.instances.remove(0);
    let mut turn = TurnBuilder::new(&ready, NOW_MS)
        .consuming(&ready.messages)
        .started()
        .activity("charge")
        .activity("ship")
        .timer(2_000)
        .claiming(1)
        .build();
    // Commit ids are unique in a process; here the same calls are to be compared.
    turn.commit_id.0 = 1;
    let _ = store.commit(Arc::new(turn)).await?;
    Ok((store, session))
}

#[tokio::test]
async fn the_same_calls_lead_to_the_same_snapshot() {
    let (one, _) = busy_store(&clock()).await.unwrap();
    let (other, _) = busy_store(&clock()).await.unwrap();
    assert_eq!(one.snapshot(), other.snapshot());
    assert_ne!(one.snapshot(), Snapshot::default());
}

#[tokio::test]
async fn a_snapshot_shows_what_is_stored_and_who_holds_it() {
    let (store, session) = busy_store(&clock()).await.unwrap();
    let snapshot = store.snapshot();
    let a = &snapshot.instances["a"];
    assert_eq!(a.record.status.kind(), StatusKind::Running);
    assert_eq!((a.inbox.len(), a.holder), (0, None));
    let holders: Vec<_> = snapshot.work.values().map(|work| work.holder).collect();
    assert_eq!(holders, [Some(session), None]);
    assert_eq!(snapshot.timers[0].due_ms, 2_000);
    assert_eq!(snapshot.histories.len(), 1);
}

#[tokio::test]
async fn poison_is_kept_for_inspection() {
    let (store, session) = busy_store(&clock()).await.unwrap();
    let work = store.fetch_work(session, &[None], 1).await.unwrap();
    let failure = Failure::new(FailureKind::Poisoned, "three workers died");
    let settlement = WorkSettlement::new(
        work.work[0].lease.clone(),
        WorkResult::Poisoned(failure.clone()),
    );
    let settled = store.settle_work(settlement).await.unwrap();
    assert_eq!(settled, SettleOutcome::Settled);
    let snapshot = store.snapshot();
    let kept: Vec<_> = snapshot.poisoned.values().collect();
    assert_eq!(kept, [&(work.work[0].item.clone(), failure)]);
    assert_eq!(snapshot.work.len(), 1);
    assert_eq!(snapshot.instances["a"].inbox.len(), 1);
}

#[tokio::test]
async fn a_dead_session_is_noticed_by_any_call() {
    let clock = clock();
    let (store, _) = busy_store(&clock).await.unwrap();
    clock.advance(SessionOptions::DEFAULT_TIMEOUT_MS);
    store.fire_timers(0).await.unwrap();
    assert_eq!(store.snapshot().sessions.len(), 1);
    clock.advance(1);
    store.fire_timers(0).await.unwrap();
    let snapshot = store.snapshot();
    assert!(snapshot.sessions.is_empty());
    assert!(snapshot.work.values().all(|work| work.holder.is_none()));
}

/// Each look at the inbox finds what it needs by id or by place: a scan for each message
/// would make this a matter of minutes.
#[tokio::test]
async fn an_inbox_of_a_hundred_thousand_messages_is_no_burden() {
    const MESSAGES: usize = 100_000;
    let (store, session) = busy_store(&clock()).await.unwrap();
    for number in 0..MESSAGES {
        let message = event_message(format!("m{number}"));
        let outgoing = OutgoingMessage::new("a".into(), message);
        assert_eq!(store.send(outgoing).await.unwrap(), SendOutcome::Accepted);
    }
    let mut given = 0;
    while given < MESSAGES {
        let ready = store.fetch_instances(session, 1).await.unwrap();
        given += ready.instances[0].messages.len();
    }
    assert_eq!(given, MESSAGES);
    let instance = &store.snapshot().instances["a"];
    assert_eq!(
        (instance.inbox.len(), instance.messages_to_give),
        (MESSAGES, 0)
    );
}
