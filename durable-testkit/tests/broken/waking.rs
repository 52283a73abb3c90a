//! Faults of waiting.

use std::future;

use durable_core::provider::{Interest, Provider, ProviderError, SessionId, WakeSeq};

use super::fault;

fault! {
    /// Looks only at what happens after the wait began.
    ForgetsWhatWasSeen {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        interest: &Interest,
        _seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let seen = self.store.fire_timers(0, 0).await?.seen;
        self.store.wait(session, interest, seen).await
    }
}

fault! {
    /// Tells nobody about instances.
    WakesNobody {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        interest: &Interest,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        if *interest == Interest::Instances {
            future::pending::<()>().await;
        }
        self.store.wait(session, interest, seen).await
    }
}

fault! {
    /// Looks only at the first queue.
    WatchesOneQueue {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        interest: &Interest,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let interest = match interest {
            Interest::Work(queues) => Interest::Work(queues[..1].to_vec()),
            other => other.clone(),
        };
        self.store.wait(session, &interest, seen).await
    }
}

fault! {
    /// Goes on waiting for a session that has ended.
    WaitsForTheDead {}
    async fn wait(
        &self,
        _session: Option<SessionId>,
        interest: &Interest,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        self.store.wait(None, interest, seen).await
    }
}
