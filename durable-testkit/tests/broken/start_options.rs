//! Faults of what a start brings.

use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, IdReuse, InstanceRecord, Message, MessageBody, OutgoingMessage, Provider,
    ProviderError, SendOutcome, StartInstance, StartOutcome, TurnCommit,
};
use durable_core::{Failure, InstanceId};

use super::{change, fault, locked};

type Started = Result<StartOutcome, ProviderError>;

/// Changes a start on its way to the store.
fn changed(mut message: Message, change: impl FnOnce(&mut StartInstance)) -> Message {
    if let MessageBody::Start(start) = &mut message.body {
        change(start);
    }
    message
}

fault! {
    /// Starts instances without the events of the start, and gives none to one that runs.
    ForgetsEvents {}
    async fn start(&self, id: &InstanceId, message: Message, reuse: IdReuse) -> Started {
        let message = changed(message, |start| start.events.clear());
        self.store.start(id, message, reuse).await
    }
}

fault! {
    /// Gives events to instances also if the start is refused.
    RaisesRefusedEvents {}
    async fn start(&self, id: &InstanceId, message: Message, reuse: IdReuse) -> Started {
        let started = self.store.start(id, message.clone(), reuse).await?;
        if let (StartOutcome::Taken { .. }, MessageBody::Start(start)) = (&started, &message.body) {
            for message in start.messages() {
                let _ = self.store.send(OutgoingMessage::new(id.clone(), message)).await?;
            }
        }
        Ok(started)
    }
}

fault! {
    /// Raises the events of a start again when it is repeated.
    RaisesEventsAgain { repeated: u64 }
    async fn start(&self, id: &InstanceId, message: Message, reuse: IdReuse) -> Started {
        let number = {
            let mut repeated = locked(&self.repeated);
            *repeated += 1;
            *repeated
        };
        let message = changed(message, |start| {
            for event in &mut start.events {
                event.message_id = format!("{}/{number}", event.message_id).into();
            }
        });
        self.store.start(id, message, reuse).await
    }
}

fault! {
    /// Knows no policy of the starts of turns.
    RefusesStartsOfTurns {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        change(&mut turn, |turn| {
            let sent = turn.new_messages.iter_mut();
            sent.for_each(|sent| sent.reuse = IdReuse::Refuse);
        });
        self.store.commit(turn).await
    }
}

fault! {
    /// Knows no delay.
    BeginsAtOnce {}
    async fn start(&self, id: &InstanceId, message: Message, reuse: IdReuse) -> Started {
        let message = changed(message, |start| start.begins_at_ms = None);
        self.store.start(id, message, reuse).await
    }
}

fault! {
    /// Ends a delay with any message.
    EndsDelaysForEvents {}
    async fn send(&self, message: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        let target = message.target.clone();
        let sent = self.store.send(message).await?;
        let reason = "early".into();
        let early = Message::new("early".into(), MessageBody::Cancel { reason });
        let _ = self.store.send(OutgoingMessage::new(target, early)).await?;
        Ok(sent)
    }
}

fault! {
    /// Lets nothing end a delay.
    KeepsDelays {}
    async fn send(&self, mut message: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        if message.message.body.ends_delay() {
            let (name, data) = ("stop".into(), "1".into());
            message.message.body = MessageBody::ExternalRaised { name, data };
        }
        self.store.send(message).await
    }
}

fault! {
    /// Says of one that runs when it was to begin.
    RemembersTheBegin { begins: Option<u64> }
    async fn start(&self, id: &InstanceId, message: Message, reuse: IdReuse) -> Started {
        if let MessageBody::Start(start) = &message.body {
            *locked(&self.begins) = start.begins_at_ms;
        }
        self.store.start(id, message, reuse).await
    }

    async fn instance(&self, id: &InstanceId) -> Result<Option<InstanceRecord>, ProviderError> {
        let mut record = self.store.instance(id).await?;
        if let Some(record) = &mut record {
            record.begins_at_ms = *locked(&self.begins);
        }
        Ok(record)
    }
}

fault! {
    /// Knows no deadline.
    ForgetsDeadlines {}
    async fn start(&self, id: &InstanceId, message: Message, reuse: IdReuse) -> Started {
        let message = changed(message, |start| start.deadline_ms = None);
        self.store.start(id, message, reuse).await
    }
}

fault! {
    /// Leaves an instance suspended whose deadline has passed.
    SuspendsAgain { suspended: Option<(InstanceId, Failure)> }
    async fn suspend(&self, id: &InstanceId, why: Failure) -> Result<SendOutcome, ProviderError> {
        *locked(&self.suspended) = Some((id.clone(), why.clone()));
        self.store.suspend(id, why).await
    }

    async fn fire_timers(
        &self,
        max: usize,
    ) -> Result<durable_core::provider::FiredTimers, ProviderError> {
        let fired = self.store.fire_timers(max).await?;
        let suspended = locked(&self.suspended).clone();
        if let Some((id, why)) = suspended {
            let _ = self.store.suspend(&id, why).await?;
        }
        Ok(fired)
    }
}
