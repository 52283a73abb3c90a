//! Faults of the inbox.

use durable_core::provider::{
    CommitOutcome, Committed, OutgoingMessage, Provider, ProviderError, ReadyInstances, Release,
    SendOutcome, SessionId, TurnCommit,
};

use super::{fault, locked};

fault! {
    /// Accepts every second message without storing it.
    LosesMessages { sent: u64 }
    async fn send(
        &self,
        messages: Vec<OutgoingMessage>,
        now_ms: u64,
    ) -> Result<Vec<SendOutcome>, ProviderError> {
        let mut outcomes = Vec::new();
        for message in messages {
            let number = {
                let mut sent = locked(&self.sent);
                *sent += 1;
                *sent
            };
            if number % 2 == 0 {
                outcomes.push(SendOutcome::Accepted);
            } else {
                outcomes.extend(self.store.send(vec![message], now_ms).await?);
            }
        }
        Ok(outcomes)
    }
}

fault! {
    /// Keeps what was consumed.
    DeliversConsumedMessages {}
    async fn commit(
        &self,
        mut turns: Vec<TurnCommit>,
    ) -> Vec<Result<CommitOutcome, ProviderError>> {
        for turn in &mut turns {
            turn.consumed.clear();
        }
        self.store.commit(turns).await
    }
}

fault! {
    /// Removes messages when it hands them out.
    ConsumesOnDelivery {}
    async fn commit(
        &self,
        turns: Vec<TurnCommit>,
    ) -> Vec<Result<CommitOutcome, ProviderError>> {
        let session = turns.first().map(|turn| turn.lease.session);
        let answers = self.store.commit(turns).await;
        if let Some(session) = session
            && let Ok(left) = self.store.fetch_instances(session, 100, 0).await
        {
            let leases = left.instances.iter().map(|ready| ready.lease.clone());
            let releases = leases.map(|lease| Release::new(lease).not_before(u64::MAX));
            let _ = self.store.release(releases.collect(), 0).await;
        }
        answers
    }
}

fault! {
    /// Gives the newest message first.
    ReversesTheInbox {}
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max, now_ms).await?;
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
        mut messages: Vec<OutgoingMessage>,
        now_ms: u64,
    ) -> Result<Vec<SendOutcome>, ProviderError> {
        for outgoing in &mut messages {
            let mut sent = locked(&self.sent);
            *sent += 1;
            let message = &mut outgoing.message;
            message.message_id = format!("{}#{sent}", message.message_id).into();
        }
        self.store.send(messages, now_ms).await
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max, now_ms).await?;
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
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let ready = self.store.fetch_instances(session, max, now_ms).await?;
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
    async fn commit(
        &self,
        turns: Vec<TurnCommit>,
    ) -> Vec<Result<CommitOutcome, ProviderError>> {
        let answers = self.store.commit(turns).await.into_iter();
        answers
            .map(|answer| match answer {
                Ok(CommitOutcome::Done(committed)) => {
                    let has_messages = false;
                    Ok(CommitOutcome::Done(Committed { has_messages, ..committed }))
                }
                other => other,
            })
            .collect()
    }
}

fault! {
    /// Takes message ids that differ in case for the same.
    IgnoresCase {}
    async fn send(
        &self,
        mut messages: Vec<OutgoingMessage>,
        now_ms: u64,
    ) -> Result<Vec<SendOutcome>, ProviderError> {
        for outgoing in &mut messages {
            let message = &mut outgoing.message;
            message.message_id = message.message_id.to_lowercase().into();
        }
        self.store.send(messages, now_ms).await
    }
}
