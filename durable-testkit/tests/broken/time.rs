//! Faults of the store's clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use durable_core::InstanceId;
use durable_core::provider::{
    Clock, CommitOutcome, FiredTimers, InstanceRecord, Layer, Provider, ProviderError,
    ReadyInstances, SessionId, SessionOptions, TurnCommit,
};
use durable_testkit::MemoryProvider;

use super::{fault, locked};

type Answer = Result<CommitOutcome, ProviderError>;

fault! {
    /// Asks its clock once.
    StandsStill { first_ms: Option<u64> }
    fn now_ms(&self) -> u64 {
        *locked(&self.first_ms).get_or_insert_with(|| self.store.now_ms())
    }
}

fault! {
    /// Says that a record changed when its latest entry was recorded.
    StampsWithEntries { changed: BTreeMap<InstanceId, u64> }
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        if let Some(recorded_ms) = turn.last_recorded_ms() {
            locked(&self.changed).insert(turn.lease.instance.clone(), recorded_ms);
        }
        self.store.commit(turn).await
    }

    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError> {
        stamped(&self.store, instance, &self.changed).await
    }
}

fault! {
    /// Says that a record changed when it was committed, whatever its entries say.
    StampsWithoutEntries { changed: BTreeMap<InstanceId, u64> }
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        locked(&self.changed).insert(turn.lease.instance.clone(), self.store.now_ms());
        self.store.commit(turn).await
    }

    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError> {
        stamped(&self.store, instance, &self.changed).await
    }
}

async fn stamped(
    store: &MemoryProvider,
    instance: &InstanceId,
    changed: &Mutex<BTreeMap<InstanceId, u64>>,
) -> Result<Option<InstanceRecord>, ProviderError> {
    let mut record = store.instance(instance).await?;
    if let (Some(record), Some(changed_ms)) = (&mut record, locked(changed).get(instance)) {
        record.updated_at_ms = *changed_ms;
    }
    Ok(record)
}

/// Goes by its clock alone, whatever the store has seen.
pub(crate) struct BareClock {
    store: MemoryProvider,
    clock: Arc<dyn Clock>,
}

impl BareClock {
    pub(crate) fn on(store: &MemoryProvider, clock: Arc<dyn Clock>) -> Self {
        let store = store.handle_with_clock(Arc::clone(&clock));
        Self { store, clock }
    }
}

#[async_trait]
impl Layer for BareClock {
    type Inner = MemoryProvider;

    fn inner(&self) -> &MemoryProvider {
        &self.store
    }

    fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }
}

/// Takes a clock that was set back for one that went on as far.
pub(crate) struct TakesBackForForth {
    store: MemoryProvider,
    clock: Arc<dyn Clock>,
    latest_ms: Mutex<u64>,
    sessions: Mutex<BTreeSet<SessionId>>,
}

impl TakesBackForForth {
    pub(crate) fn on(clock: Arc<dyn Clock>) -> Self {
        Self {
            store: MemoryProvider::with_clock(Arc::clone(&clock)),
            clock,
            latest_ms: Mutex::default(),
            sessions: Mutex::default(),
        }
    }

    fn was_set_back(&self) -> bool {
        let (now_ms, mut latest_ms) = (self.clock.now_ms(), locked(&self.latest_ms));
        let is_back = now_ms < *latest_ms;
        *latest_ms = now_ms;
        is_back
    }
}

#[async_trait]
impl Layer for TakesBackForForth {
    type Inner = MemoryProvider;

    fn inner(&self) -> &MemoryProvider {
        &self.store
    }

    async fn open_session(&self, options: SessionOptions) -> Result<SessionId, ProviderError> {
        let session = self.store.open_session(options).await?;
        locked(&self.sessions).insert(session);
        Ok(session)
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        if self.was_set_back() {
            let sessions = locked(&self.sessions).clone();
            for late in sessions.into_iter().filter(|other| *other != session) {
                self.store.close_session(late).await?;
            }
        }
        self.store.fetch_instances(session, max).await
    }

    async fn fire_timers(&self, max: usize) -> Result<FiredTimers, ProviderError> {
        let mut fired = self.store.fire_timers(max).await?;
        if self.was_set_back() && fired.next_due_ms.take().is_some() {
            fired.fired += 1;
        }
        Ok(fired)
    }
}
