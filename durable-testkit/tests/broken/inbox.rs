//! Faults of the inbox.

use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, Committed, OutgoingMessage, Provider, ProviderError, ReadyInstances, Release,
    SendOutcome, SessionId, TurnCommit,
};

use super::{change, fault, locked};

fault! {
    /// Accepts every second message without storing it.
    LosesMessages { sent: u64 }
    async fn send(
        &self,
        message: OutgoingMessage,
    ) -> Result<SendOutcome, ProviderError> {
        let number = {
            let mut sent = locked(&self.sent);
            *sent += 1;
            *sent
        };
        match number % 2 {
            0 => Ok(SendOutcome::Accepted),
            _ => self.store.send(message).await,
        }
    }
}

fault! {
    /// Keeps what was consumed.
    DeliversConsumedMessages {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        change(&mut turn, |turn| turn.consumed.clear());
        self.store.commit(turn).await
    }
}

fault! {
    /// Removes messages when it hands them out.
    ConsumesOnDelivery {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let session = turn.lease.session;
        let outcome = self.store.commit(turn).await?;
        let left = self.store.fetch_instances(session, 100).await?;
        let leases = left.instances.iter().map(|ready| ready.lease.clone());
        let releases = leases.map(|lease| Release::new(lease).not_before(u64::MAX));
        self.store.release(releases.collect()).await?;
        Ok(outcome)
    }
}

fault! {
    /// Gives the newest message first.
    ReversesTheInbox {}
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max).await?;
        for instance in &mut ready.instances {
            instance.messages.reverse();
        }
        Ok(ready)
    }
}

fault! {
    /// Queues a message as often as it is sent.
    QueuesDuplicates { sent: u64 }
    async fn send(
        &self,
        mut outgoing: OutgoingMessage,
    ) -> Result<SendOutcome, ProviderError> {
        {
            let mut sent = locked(&self.sent);
            *sent += 1;
            let message = &mut outgoing.message;
            message.message_id = format!("{}#{sent}", message.message_id).into();
        }
        self.store.send(outgoing).await
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max).await?;
        for queued in ready.instances.iter_mut().flat_map(|it| &mut it.messages) {
            let id = queued.message.message_id.clone();
            let sent_as = id.split('#').next().unwrap_or_default();
            queued.message.message_id = sent_as.into();
        }
        Ok(ready)
    }
}

fault! {
    /// Gives the same messages with every fetch.
    GivesMessagesAgain { last: ReadyInstances }
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let ready = self.store.fetch_instances(session, max).await?;
        let mut last = locked(&self.last);
        if !ready.instances.is_empty() {
            *last = ready;
        }
        Ok(last.clone())
    }
}

fault! {
    /// Never says that there are messages.
    HidesMessages {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        match self.store.commit(turn).await? {
            CommitOutcome::Done(committed) => {
                let committed = Committed::new(false, committed.claimed);
                Ok(CommitOutcome::Done(committed))
            }
            other => Ok(other),
        }
    }
}

fault! {
    /// Takes message ids that differ in case for the same.
    IgnoresCase {}
    async fn send(
        &self,
        mut outgoing: OutgoingMessage,
    ) -> Result<SendOutcome, ProviderError> {
        let message = &mut outgoing.message;
        message.message_id = message.message_id.to_lowercase().into();
        self.store.send(outgoing).await
    }
}
