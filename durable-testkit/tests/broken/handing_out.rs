//! Faults of ownership and sessions.

use std::collections::BTreeMap;

use durable_core::InstanceId;
use durable_core::provider::{
    CommitOutcome, Lease, Provider, ProviderError, ReadyInstance, ReadyInstances, Release,
    SessionId, SessionOptions, TurnCommit,
};

use super::{fault, locked};

fault! {
    /// Hands what it handed out to every other session too.
    TwoOwners { held: Vec<ReadyInstance> }
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max, now_ms).await?;
        let mut held = locked(&self.held);
        let others = held.iter().filter(|it| it.lease.session != session);
        let others: Vec<ReadyInstance> = others.cloned().collect();
        held.extend(ready.instances.clone());
        ready.instances.extend(others);
        Ok(ready)
    }
}

fault! {
    /// Gives every lease of an instance the same token.
    TokensStandStill { leases: BTreeMap<InstanceId, Lease> }
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max, now_ms).await?;
        for instance in &mut ready.instances {
            let lease = instance.lease.clone();
            instance.lease.token = 1;
            locked(&self.leases).insert(lease.instance.clone(), lease);
        }
        Ok(ready)
    }

    async fn commit(
        &self,
        mut turns: Vec<TurnCommit>,
    ) -> Vec<Result<CommitOutcome, ProviderError>> {
        for turn in &mut turns {
            turn.lease = self.real(&turn.lease);
        }
        self.store.commit(turns).await
    }

    async fn release(&self, releases: Vec<Release>, now_ms: u64) -> Result<(), ProviderError> {
        let releases = releases.into_iter().map(|release| Release {
            lease: self.real(&release.lease),
            ..release
        });
        self.store.release(releases.collect(), now_ms).await
    }
}

impl TokensStandStill {
    fn real(&self, lease: &Lease) -> Lease {
        let leases = locked(&self.leases);
        leases.get(&lease.instance).unwrap_or(lease).clone()
    }
}

fault! {
    /// Never ends a session.
    ImmortalSessions {}
    async fn open_session(
        &self,
        options: SessionOptions,
        now_ms: u64,
    ) -> Result<SessionId, ProviderError> {
        let session_timeout_ms = u64::MAX;
        let options = SessionOptions { session_timeout_ms, ..options };
        self.store.open_session(options, now_ms).await
    }
}

fault! {
    /// Loses the heartbeats.
    HeartbeatsDoNotCount {}
    async fn heartbeat(
        &self,
        session: SessionId,
        now_ms: u64,
    ) -> Result<durable_core::provider::SessionReport, ProviderError> {
        // A fetch of nothing knows whether the session lives, and keeps nothing.
        let fetched = self.store.fetch_instances(session, 0, now_ms).await?;
        let now_ms = fetched.now_ms;
        Ok(durable_core::provider::SessionReport { now_ms, cancelled_work: Vec::new() })
    }
}

fault! {
    /// Counts no crash of an instance.
    CountsNoCrashes {}
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max, now_ms).await?;
        for instance in &mut ready.instances {
            instance.crashes = 0;
        }
        Ok(ready)
    }
}

fault! {
    /// Takes a session that was closed for one that died.
    ClosingIsDying {}
    async fn close_session(&self, session: SessionId, now_ms: u64) -> Result<(), ProviderError> {
        let fetched = self.store.fetch_instances(session, 100, now_ms).await;
        let _ = fetched;
        Ok(())
    }
}

fault! {
    /// Gives the newest instance first.
    NewestFirst {}
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max, now_ms).await?;
        ready.instances.reverse();
        Ok(ready)
    }
}

fault! {
    /// Loses an instance whose session died with no message in its inbox.
    ForgetsIdleHoldings {}
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max, now_ms).await?;
        ready.instances.retain(|instance| !instance.messages.is_empty());
        Ok(ready)
    }
}
