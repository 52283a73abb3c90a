//! Where the texts are that a codec changes: one list for both directions.
//!
//! Which texts of an event they are is said by the table of events. A kind of message
//! that is not known here is refused: nothing is stored plain because it was forgotten.

use durable_core::provider::{
    InstanceRecord, InstanceStatus, InstanceUpdate, Message, MessageBody, NextExecution,
    OutgoingMessage, StartInstance, TurnCommit, WorkItem, WorkResult, WorkSettlement,
};
use durable_core::{Event, Failure, HistoryEntry, MessageId, Payload, VisitPayloads};

use super::PayloadCodecError;

/// What is done to each text.
pub(crate) type Change<'c> = dyn FnMut(&str) -> Result<String, PayloadCodecError> + 'c;

/// Something that holds texts which a codec changes.
pub(crate) trait Texts {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError>;
}

impl Texts for Payload {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        *self = Self::from(change(self)?);
        Ok(())
    }
}

impl Texts for String {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        *self = change(self)?;
        Ok(())
    }
}

impl<T: Texts> Texts for Option<T> {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        self.iter_mut().try_for_each(|value| value.change(change))
    }
}

impl<T: Texts> Texts for Vec<T> {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        self.iter_mut().try_for_each(|value| value.change(change))
    }
}

impl<T: Texts, E: Texts> Texts for Result<T, E> {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        match self {
            Ok(value) => value.change(change),
            Err(error) => error.change(change),
        }
    }
}

impl Texts for Failure {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        change_all(self, change)
    }
}

impl Texts for HistoryEntry {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        self.event.change(change)
    }
}

impl Texts for Event {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        change_all(self, change)
    }
}

fn change_all(
    value: &mut impl VisitPayloads,
    change: &mut Change<'_>,
) -> Result<(), PayloadCodecError> {
    let mut payloads = Vec::new();
    value.visit(&mut payloads);
    for payload in payloads {
        let changed = change(payload.as_str())?;
        payload.set(changed);
    }
    Ok(())
}

impl Texts for StartInstance {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        self.input.change(change)
    }
}

impl Texts for Message {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        match &mut self.body {
            MessageBody::Start(start) => start.change(change),
            MessageBody::ActivityFinished { result, .. }
            | MessageBody::SubOrchestrationFinished { result, .. }
            | MessageBody::PromiseSettled {
                resolution: result, ..
            } => result.change(change),
            MessageBody::ExternalRaised { data, .. } => data.change(change),
            MessageBody::Cancel { reason } => reason.change(change),
            MessageBody::Terminate { failure } => failure.change(change),
            MessageBody::TimerFired { .. } => Ok(()),
            _ => Err(unknown(&self.message_id)),
        }
    }
}

impl Texts for OutgoingMessage {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        self.message.change(change)
    }
}

impl Texts for WorkItem {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        self.input.change(change)
    }
}

impl Texts for WorkSettlement {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        match &mut self.result {
            WorkResult::Finished(result) => result.change(change),
            WorkResult::Poisoned(failure) => failure.change(change),
            WorkResult::Retry { .. } | WorkResult::HandedBack { .. } => Ok(()),
        }
    }
}

impl Texts for InstanceStatus {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        match self {
            Self::Completed { output } => output.change(change),
            Self::Suspended { failure }
            | Self::Failed { failure }
            | Self::Terminated { failure } => failure.change(change),
            Self::Pending | Self::Running => Ok(()),
        }
    }
}

/// Why an instance is blocked stays plain: a node without the key says it too.
impl Texts for InstanceUpdate {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        self.status.change(change)?;
        self.custom_status.change(change)
    }
}

impl Texts for NextExecution {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        self.events.change(change)
    }
}

impl Texts for TurnCommit {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        self.events.change(change)?;
        self.next_execution.change(change)?;
        self.new_work.change(change)?;
        self.new_messages.change(change)?;
        self.update.change(change)
    }
}

impl Texts for InstanceRecord {
    fn change(&mut self, change: &mut Change<'_>) -> Result<(), PayloadCodecError> {
        self.status.change(change)?;
        self.custom_status.change(change)
    }
}

fn unknown(message_id: &MessageId) -> PayloadCodecError {
    PayloadCodecError::new(format!(
        "this runtime does not know what the message {message_id} holds"
    ))
}
