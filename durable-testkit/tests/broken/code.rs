//! Faults of what a session is given by its code.

use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, Message, MessageBody, OutgoingMessage, Provider, ProviderError, SendOutcome,
    ServedCode, SessionId, SessionOptions, SessionRecord, TurnCommit,
};
use durable_core::{Failure, FailureKind};

use super::fault;

type Opened = Result<SessionId, ProviderError>;

fault! {
    /// Does not ask what code a node has.
    IgnoresCode {}
    async fn open_session(&self, mut options: SessionOptions) -> Opened {
        options.code = None;
        self.store.open_session(options).await
    }
}

fault! {
    /// Asks for the orchestration, but not for its version.
    IgnoresVersions {}
    async fn open_session(&self, mut options: SessionOptions) -> Opened {
        if let Some(code) = &mut options.code {
            for versions in code.orchestrations.values_mut() {
                versions.extend(["1.0.0", "2.0.0"].map(Into::into));
            }
        }
        self.store.open_session(options).await
    }
}

fault! {
    /// Asks for the activities in fetches, but not in commits.
    ClaimsWithoutCode {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let mut outcome = self.store.commit(Arc::clone(&turn)).await?;
        if let CommitOutcome::Done(committed) = &mut outcome
            && !committed.claimed.is_empty()
        {
            let options = SessionOptions::default();
            let any = self.store.open_session(options).await?;
            let max = turn.claim.max.saturating_sub(committed.claimed.len());
            let more = self.store.fetch_work(any, &turn.claim.queues, max).await?;
            committed.claimed.extend(more.work);
        }
        Ok(outcome)
    }
}

fault! {
    /// Gives a node that has some code everything.
    GivesEverythingToSome {}
    async fn open_session(&self, mut options: SessionOptions) -> Opened {
        options.code = options.code.filter(|code| *code == ServedCode::new());
        self.store.open_session(options).await
    }
}

fault! {
    /// A termination waits for a node that has the code.
    TerminationNeedsCode {}
    async fn send(&self, mut outgoing: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        if let MessageBody::Terminate { failure } = &outgoing.message.body {
            let reason = failure.message.clone();
            let body = MessageBody::Cancel { reason };
            outgoing.message = Message::new(outgoing.message.message_id, body);
        }
        self.store.send(outgoing).await
    }
}

fault! {
    /// Takes an instance that is started anew for one that still is to be terminated.
    StaysTerminated {}
    async fn start(
        &self,
        instance: &durable_core::InstanceId,
        message: Message,
        reuse: durable_core::provider::IdReuse,
    ) -> Result<durable_core::provider::StartOutcome, ProviderError> {
        let is_old = self.store.instance(instance).await?.is_some();
        let outcome = self.store.start(instance, message, reuse).await?;
        if is_old {
            let failure = Failure::new(FailureKind::Terminated, "again");
            let body = MessageBody::Terminate { failure };
            let message = Message::new("again".into(), body);
            let outgoing = OutgoingMessage::new(instance.clone(), message);
            let _ = self.store.send(outgoing).await?;
        }
        Ok(outcome)
    }
}

fault! {
    /// Does not say what the nodes have.
    ForgetsWhatNodesSaid {}
    async fn sessions(&self) -> Result<Vec<SessionRecord>, ProviderError> {
        let mut sessions = self.store.sessions().await?;
        for record in &mut sessions {
            record.options = SessionOptions::default();
        }
        Ok(sessions)
    }
}
