//! What only the in-memory provider shows: its snapshot.

use durable_core::provider::{
    IdReuse, Provider, ProviderError, SessionId, SessionOptions, StatusKind, WorkResult,
    WorkSettlement,
};
use durable_core::{Failure, FailureKind};
use durable_testkit::{MemoryProvider, Snapshot, TurnBuilder, start_message};

const NOW_MS: u64 = 1_000;

/// A store with an instance `a` that called two activities, one of them claimed.
async fn busy_store() -> Result<(MemoryProvider, SessionId), ProviderError> {
    let store = MemoryProvider::new();
    let session = store
        .open_session(SessionOptions::default(), NOW_MS)
        .await?;
    let _ = store
        .start(&"a".into(), start_message("s"), IdReuse::Refuse, NOW_MS)
        .await?;
    let mut ready = store.fetch_instances(session, 1, NOW_MS).await?;
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
    let _ = store.commit(vec![turn]).await;
    Ok((store, session))
}

#[tokio::test]
async fn the_same_calls_lead_to_the_same_snapshot() {
    let (one, _) = busy_store().await.unwrap();
    let (other, _) = busy_store().await.unwrap();
    assert_eq!(one.snapshot(), other.snapshot());
    assert_ne!(one.snapshot(), Snapshot::default());
}

#[tokio::test]
async fn a_snapshot_shows_what_is_stored_and_who_holds_it() {
    let (store, session) = busy_store().await.unwrap();
    let snapshot = store.snapshot();
    let a = &snapshot.instances["a"];
    assert_eq!(a.record.status.kind(), StatusKind::Running);
    assert_eq!((a.inbox.len(), a.holder), (0, None));
    let holders: Vec<_> = snapshot.work.values().map(|work| work.holder).collect();
    assert_eq!(holders, [Some(session), None]);
    assert_eq!(snapshot.timers[0].fire_at_ms, 2_000);
    assert_eq!(snapshot.histories.len(), 1);
}

#[tokio::test]
async fn poison_is_kept_for_inspection() {
    let (store, session) = busy_store().await.unwrap();
    let work = store.fetch_work(session, &[None], 1, NOW_MS).await.unwrap();
    let failure = Failure::new(FailureKind::Poisoned, "three workers died");
    let settlement = WorkSettlement {
        lease: work.work[0].lease.clone(),
        result: WorkResult::Poisoned(failure.clone()),
    };
    store.settle_work(vec![settlement], NOW_MS).await.unwrap();
    let snapshot = store.snapshot();
    let kept: Vec<_> = snapshot.poisoned.values().collect();
    assert_eq!(kept, [&(work.work[0].item.clone(), failure)]);
    assert_eq!(snapshot.work.len(), 1);
    assert_eq!(snapshot.instances["a"].inbox.len(), 1);
}

#[tokio::test]
async fn a_dead_session_is_noticed_by_any_call() {
    let (store, _) = busy_store().await.unwrap();
    let bound_ms = SessionOptions::default().session_timeout_ms;
    store.fire_timers(0, NOW_MS + bound_ms).await.unwrap();
    assert_eq!(store.snapshot().sessions.len(), 1);
    store.fire_timers(0, NOW_MS + bound_ms + 1).await.unwrap();
    let snapshot = store.snapshot();
    assert!(snapshot.sessions.is_empty());
    assert!(snapshot.work.values().all(|work| work.holder.is_none()));
}
