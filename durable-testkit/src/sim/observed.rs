//! What the invariants are shown: every answer of the store, at the moment when
//! the store gave it, whether it reached its caller or not.

use std::sync::Arc;

use async_trait::async_trait;
use durable_core::provider::{
    ClaimedWork, CommitOutcome, IdReuse, Layer, Lease, Message, OutgoingMessage, Provider,
    ProviderError, PurgeReport, PurgeRequest, ReadyInstance, ReadyInstances, Release, SendOutcome,
    SessionId, StartOutcome, TurnCommit, WorkBatch,
};
use durable_core::{Failure, InstanceId, Name};

use super::world::World;

/// An answer of the store.
///
/// See the example of [`Invariant`](crate::Invariant).
#[derive(Debug)]
#[non_exhaustive]
pub enum Observed<'a> {
    /// An instance was handed out.
    HandedOut {
        /// The instance, its lease and its messages.
        ready: &'a ReadyInstance,
    },
    /// Work was handed out.
    Claimed {
        /// The item and its lease.
        work: &'a ClaimedWork,
    },
    /// A turn was committed, or not.
    Committed {
        /// The turn.
        turn: &'a TurnCommit,
        /// What became of it.
        outcome: &'a CommitOutcome,
    },
    /// Leases were given back.
    Released {
        /// The leases.
        leases: &'a [Lease],
    },
    /// A session was closed.
    Closed {
        /// The session.
        session: SessionId,
    },
    /// An instance was started, or not.
    Started {
        /// The instance.
        instance: &'a InstanceId,
        /// The message that starts it.
        message: &'a Message,
        /// What became of it.
        outcome: &'a StartOutcome,
    },
    /// A message was sent by a client, or not.
    Sent {
        /// The message.
        message: &'a OutgoingMessage,
        /// What became of it.
        outcome: &'a SendOutcome,
    },
    /// An instance was suspended or resumed by a client.
    Switched {
        /// The instance.
        instance: &'a InstanceId,
    },
    /// Ended instances were removed.
    Purged {
        /// Which ones.
        purge: &'a PurgeRequest,
    },
}

/// A handle on the store that shows the invariants what the store answers through it.
pub(crate) struct ObservedStore {
    pub(crate) world: Arc<World>,
    pub(crate) store: Arc<dyn Provider>,
}

impl ObservedStore {
    fn show_claimed(&self, claimed: &[ClaimedWork]) {
        for work in claimed {
            self.world.saw(&Observed::Claimed { work });
        }
    }
}

#[async_trait]
impl Layer for ObservedStore {
    type Inner = Arc<dyn Provider>;

    fn inner(&self) -> &Arc<dyn Provider> {
        &self.store
    }

    async fn close_session(&self, session: SessionId) -> Result<(), ProviderError> {
        self.store.close_session(session).await?;
        self.world.saw(&Observed::Closed { session });
        Ok(())
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let batch = self.store.fetch_instances(session, max).await?;
        for ready in &batch.instances {
            self.world.saw(&Observed::HandedOut { ready });
        }
        Ok(batch)
    }

    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let outcome = self.store.commit(Arc::clone(&turn)).await?;
        self.world.saw(&Observed::Committed {
            turn: &turn,
            outcome: &outcome,
        });
        if let CommitOutcome::Done(committed) = &outcome {
            self.show_claimed(&committed.claimed);
        }
        Ok(outcome)
    }

    async fn release(&self, releases: Vec<Release>) -> Result<(), ProviderError> {
        let released = releases.iter().map(|release| release.lease.clone());
        let leases: Vec<Lease> = released.collect();
        self.store.release(releases).await?;
        self.world.saw(&Observed::Released { leases: &leases });
        Ok(())
    }

    async fn fetch_work(
        &self,
        session: SessionId,
        queues: &[Option<Name>],
        max: usize,
    ) -> Result<WorkBatch, ProviderError> {
        let batch = self.store.fetch_work(session, queues, max).await?;
        self.show_claimed(&batch.work);
        Ok(batch)
    }

    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        let outcome = self.store.start(instance, message.clone(), reuse).await?;
        self.world.saw(&Observed::Started {
            instance,
            message: &message,
            outcome: &outcome,
        });
        Ok(outcome)
    }

    async fn send(&self, message: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        let outcome = self.store.send(message.clone()).await?;
        self.world.saw(&Observed::Sent {
            message: &message,
            outcome: &outcome,
        });
        Ok(outcome)
    }

    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
    ) -> Result<SendOutcome, ProviderError> {
        let outcome = self.store.suspend(instance, reason).await?;
        self.world.saw(&Observed::Switched { instance });
        Ok(outcome)
    }

    async fn resume(&self, instance: &InstanceId) -> Result<SendOutcome, ProviderError> {
        let outcome = self.store.resume(instance).await?;
        self.world.saw(&Observed::Switched { instance });
        Ok(outcome)
    }

    async fn purge(&self, purge: &PurgeRequest) -> Result<PurgeReport, ProviderError> {
        let report = self.store.purge(purge).await?;
        self.world.saw(&Observed::Purged { purge });
        Ok(report)
    }
}
