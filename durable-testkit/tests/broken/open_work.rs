//! Faults in what is shown of open work and timers.

use std::collections::BTreeSet;

use durable_core::InstanceId;
use durable_core::provider::{
    HeartbeatOutcome, OpenWorkPage, Provider, ProviderError, SettleOutcome, SourceEvent, WorkKey,
    WorkLease, WorkResult, WorkSettlement, WorkState,
};
use durable_core::{Failure, Payload};

use super::{fault, locked};

type Page = Result<OpenWorkPage, ProviderError>;

/// Defines a layer that changes what is shown of an instance.
macro_rules! shows {
    ($(#[$doc:meta])* $name:ident, |$store:ident, $instance:ident, $page:ident| $change:expr) => {
        fault! {
            $(#[$doc])*
            $name {}
            async fn open_work(
                &self,
                $instance: &InstanceId,
                after: Option<SourceEvent>,
                max: usize,
            ) -> Page {
                let $store = &self.store;
                let mut $page = $store.open_work($instance, after, max).await?;
                $change;
                Ok($page)
            }
        }
    };
}

shows! {
    /// Shows work that no session holds only.
    HidesHeldWork, |_store, _instance, page| page
        .activities
        .retain(|open| matches!(open.state, WorkState::Queued { .. }))
}

shows! {
    /// Shows cancelled work like any other.
    HidesCancellations, |_store, _instance, page| page
        .activities
        .iter_mut()
        .for_each(|open| open.is_cancelled = false)
}

shows! {
    /// Takes an ended instance for one that waits for nothing.
    ForgetsTheEnded, |store, instance, page| {
        let record = store.instance(instance).await?;
        if record.is_some_and(|record| record.status.kind().is_ended()) {
            page.activities.clear();
        }
    }
}

fault! {
    /// Skips an event after each page.
    SkipsBetweenPages {}
    async fn open_work(
        &self,
        instance: &InstanceId,
        after: Option<SourceEvent>,
        max: usize,
    ) -> Page {
        let next = |source: SourceEvent| SourceEvent::new(source.execution_id, source.event_id.next());
        self.store.open_work(instance, after.map(next), max).await
    }
}

fault! {
    /// Keeps the first failure.
    KeepsTheFirstFailure { first: Option<Failure> }
    async fn settle_work(
        &self,
        mut settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        if let WorkResult::Retry { failure, .. } = &mut settlement.result {
            let first = locked(&self.first).get_or_insert_with(|| failure.clone()).clone();
            *failure = first;
        }
        self.store.settle_work(settlement).await
    }
}

fault! {
    /// Shows timers that fired or were cancelled.
    KeepsTimers { shown: Option<OpenWorkPage> }
    async fn open_work(
        &self,
        instance: &InstanceId,
        after: Option<SourceEvent>,
        max: usize,
    ) -> Page {
        let page = self.store.open_work(instance, after, max).await?;
        Ok(locked(&self.shown).get_or_insert(page).clone())
    }
}

fault! {
    /// Shows the first heartbeat of an attempt.
    ShowsTheFirstHeartbeat { first: Option<Payload> }
    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
    ) -> Result<HeartbeatOutcome, ProviderError> {
        let first = locked(&self.first).get_or_insert(details).clone();
        self.store.heartbeat_work(lease, first).await
    }
}

fault! {
    /// Knows why attempts failed only in the process to which they were settled.
    KeepsFailuresInMemory { failed: BTreeSet<WorkKey> }
    async fn settle_work(
        &self,
        settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        locked(&self.failed).insert(settlement.lease.key.clone());
        self.store.settle_work(settlement).await
    }

    async fn open_work(
        &self,
        instance: &InstanceId,
        after: Option<SourceEvent>,
        max: usize,
    ) -> Page {
        let mut page = self.store.open_work(instance, after, max).await?;
        for open in &mut page.activities {
            let is_known = locked(&self.failed).contains(&open.item.key);
            open.last_failure = open.last_failure.take().filter(|_| is_known);
        }
        Ok(page)
    }
}
