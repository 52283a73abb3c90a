//! Faults of ownership and sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use durable_core::InstanceId;
use durable_core::provider::{
    CommitOutcome, Lease, Provider, ProviderError, ReadyInstance, ReadyInstances, Release,
    SessionId, SessionOptions, TurnCommit,
};

use tokio::runtime::Handle;

use super::{fault, locked};

fault! {
    /// Hands what it handed out to every other session too.
    TwoOwners { held: Vec<ReadyInstance> }
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max).await?;
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
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max).await?;
        for instance in &mut ready.instances {
            let lease = instance.lease.clone();
            instance.lease.token = 1;
            locked(&self.leases).insert(lease.instance.clone(), lease);
        }
        Ok(ready)
    }

    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        Arc::make_mut(&mut turn).lease = self.real(&turn.lease);
        self.store.commit(turn).await
    }

    async fn release(&self, mut releases: Vec<Release>) -> Result<(), ProviderError> {
        for release in &mut releases {
            release.lease = self.real(&release.lease);
        }
        self.store.release(releases).await
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
    ) -> Result<SessionId, ProviderError> {
        self.store.open_session(options.session_timeout_ms(u64::MAX)).await
    }
}

fault! {
    /// Loses the heartbeats.
    HeartbeatsDoNotCount {}
    async fn heartbeat(
        &self,
        session: SessionId,
    ) -> Result<(), ProviderError> {
        // A fetch of nothing knows whether the session lives, and keeps nothing.
        self.store.fetch_instances(session, 0).await.map(drop)
    }
}

fault! {
    /// Sends heartbeats in a task of the runtime in which the session was opened.
    HeartbeatsNeedTheOpener { opener: Option<Handle> }
    async fn open_session(
        &self,
        options: SessionOptions,
    ) -> Result<SessionId, ProviderError> {
        *locked(&self.opener) = Some(Handle::current());
        self.store.open_session(options).await
    }

    async fn heartbeat(
        &self,
        session: SessionId,
    ) -> Result<(), ProviderError> {
        let opener = locked(&self.opener).clone();
        let Some(opener) = opener else {
            return Err(ProviderError::SessionLost { session });
        };
        let store = self.store.clone();
        let heartbeat = opener.spawn(async move { store.heartbeat(session).await });
        heartbeat.await.unwrap_or(Err(ProviderError::SessionLost { session }))
    }
}

fault! {
    /// Counts no crash of an instance.
    CountsNoCrashes {}
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max).await?;
        for instance in &mut ready.instances {
            instance.crashes = 0;
        }
        Ok(ready)
    }
}

fault! {
    /// Takes a session that was closed for one that died.
    ClosingIsDying {}
    async fn close_session(&self, session: SessionId) -> Result<(), ProviderError> {
        let fetched = self.store.fetch_instances(session, 100).await;
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
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max).await?;
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
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max).await?;
        ready.instances.retain(|instance| !instance.messages.is_empty());
        Ok(ready)
    }
}

fault! {
    /// Gives one instance at least.
    FetchesOneAtLeast {}
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        self.store.fetch_instances(session, max.max(1)).await
    }
}
