//! Faults of requests and their answers.

use std::collections::BTreeMap;
use std::future;
use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, InstanceStatus, MessageBody, OutgoingMessage, Provider, ProviderError,
    RequestAnswer, SendOutcome, SessionId, TurnCommit, WakeSeq, WakeTopic,
};
use durable_core::{InstanceId, MessageId};

use super::{change, fault, locked};

type Answers = BTreeMap<(InstanceId, MessageId), RequestAnswer>;

fault! {
    /// Forgets the answers of a turn.
    LosesAnswers {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        change(&mut turn, |turn| turn.answers.clear());
        self.store.commit(turn).await
    }
}

fault! {
    /// Keeps the latest answer to a request, for ever.
    KeepsTheLastAnswer { answers: Answers }
    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let outcome = self.store.commit(Arc::clone(&turn)).await?;
        if matches!(outcome, CommitOutcome::Done(_)) {
            for answer in &turn.answers {
                let request = (turn.lease.instance.clone(), answer.message_id.clone());
                locked(&self.answers).insert(request, answer.clone());
            }
        }
        Ok(outcome)
    }

    async fn answer(
        &self,
        instance: &InstanceId,
        message_id: &MessageId,
    ) -> Result<Option<RequestAnswer>, ProviderError> {
        let request = (instance.clone(), message_id.clone());
        Ok(locked(&self.answers).get(&request).cloned())
    }
}

fault! {
    /// Takes the ids of requests for the same whatever their case.
    IgnoresCaseOfRequests {}
    async fn answer(
        &self,
        instance: &InstanceId,
        message_id: &MessageId,
    ) -> Result<Option<RequestAnswer>, ProviderError> {
        let id = MessageId::from(message_id.to_lowercase());
        let answer = self.store.answer(instance, &id).await?;
        Ok(answer.map(|answer| RequestAnswer::new(message_id.clone(), answer.result)))
    }
}

fault! {
    /// Puts a request that has its answer into the inbox again.
    AsksAgain {}
    async fn send(&self, mut sent: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        let answer = self.store.answer(&sent.target, &sent.message.message_id).await?;
        let is_request = matches!(sent.message.body, MessageBody::Requested { .. });
        if is_request && answer.is_some() {
            sent.message.message_id = format!("{} again", sent.message.message_id).into();
        }
        self.store.send(sent).await
    }
}

fault! {
    /// Admits requests of suspended instances.
    AdmitsWhileSuspended {}
    async fn send(&self, sent: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        let record = self.store.instance(&sent.target).await?;
        let status = record.map(|record| record.status);
        match status {
            Some(InstanceStatus::Suspended { .. }) => {
                let _ = self.store.send(sent).await?;
                Ok(SendOutcome::Accepted)
            }
            _ => self.store.send(sent).await,
        }
    }
}

fault! {
    /// Forgets the answers of an instance that is started anew.
    ForgetsAtARestart {}
    async fn answer(
        &self,
        instance: &InstanceId,
        message_id: &MessageId,
    ) -> Result<Option<RequestAnswer>, ProviderError> {
        let executions = self.store.executions(instance).await?;
        match executions.len() {
            0 | 1 => self.store.answer(instance, message_id).await,
            _ => Ok(None),
        }
    }
}

fault! {
    /// Wakes no client that waits for an answer.
    AnswersInSilence {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        if matches!(topic, WakeTopic::Answer(..)) {
            future::pending::<()>().await;
        }
        self.store.wait(session, topic, seen).await
    }
}

fault! {
    /// Stores whatever is answered.
    MeasuresNoAnswers {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        Arc::make_mut(&mut turn).answers.clear();
        self.store.commit(turn).await
    }
}
