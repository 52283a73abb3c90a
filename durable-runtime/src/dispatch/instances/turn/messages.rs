//! The messages of a turn to other instances. The id of a message follows from the event
//! that it is sent for, so that it is the same whenever the turn is run.

use durable_core::provider::{Message, MessageBody, OutgoingMessage, StartInstance};
use durable_core::{
    Event, EventId, ExecutionId, Failure, FailureKind, InstanceId, MessageId, Parent, Payload,
};

use super::Batch;

/// The event that something follows from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub(super) execution_id: ExecutionId,
    pub(super) event_id: EventId,
}

impl Batch {
    /// Events that are messages to other instances.
    pub(super) fn tell_others(&mut self, source: Source, event: &Event) {
        match event {
            Event::SubOrchestrationScheduled {
                name,
                version,
                instance: child,
                input,
                ..
            } => {
                let start = StartInstance {
                    name: name.clone(),
                    version: version.clone(),
                    input: input.clone(),
                    parent: Some(Parent {
                        instance: self.instance.clone(),
                        execution_id: source.execution_id,
                        event_id: source.event_id,
                    }),
                };
                self.send(source, child, MessageBody::Start(start));
            }
            Event::OrchestrationChained {
                name,
                version,
                instance: started,
                input,
                ..
            } => {
                let start = StartInstance {
                    name: name.clone(),
                    version: version.clone(),
                    input: input.clone(),
                    parent: None,
                };
                self.send(source, started, MessageBody::Start(start));
            }
            Event::ExternalEventSent {
                target, name, data, ..
            } => {
                let body = MessageBody::ExternalRaised {
                    name: name.clone(),
                    data: data.clone(),
                };
                self.send(source, target, body);
            }
            Event::PromiseResolutionSent {
                target, resolution, ..
            } => {
                let body = MessageBody::PromiseSettled {
                    execution_id: target.execution_id,
                    number: target.number,
                    resolution: resolution.clone(),
                };
                self.send(source, &target.instance, body);
            }
            _ => {}
        }
    }

    /// Asks children to stop whose parent has ended.
    pub(super) fn give_up(
        &mut self,
        source: Source,
        children: impl IntoIterator<Item = (EventId, InstanceId)>,
    ) {
        for (scheduled, child) in children {
            let body = MessageBody::Cancel {
                reason: "its parent has ended".into(),
            };
            let id = format!("{}/{scheduled}", self.message_id(source));
            self.push_message(&child, id, body);
        }
    }

    /// Gives the result of the instance to its parent.
    pub(super) fn answer(
        &mut self,
        source: Source,
        parent: Option<Parent>,
        result: Result<Payload, Failure>,
    ) {
        let Some(parent) = parent else {
            return;
        };
        let body = MessageBody::SubOrchestrationFinished {
            execution_id: parent.execution_id,
            source_event_id: parent.event_id,
            result,
        };
        self.send(source, &parent.instance, body);
    }

    /// A start that came too late or for a taken id: its parent is told.
    pub(crate) fn refuse_start(&mut self, start: &StartInstance) {
        let Some(parent) = &start.parent else {
            return;
        };
        let failure = Failure::new(
            FailureKind::InstanceExists,
            format!("an instance with the id `{}` exists", self.instance),
        );
        let id = format!(
            "{}/{}/{}/refused",
            parent.instance, parent.execution_id, parent.event_id
        );
        let body = MessageBody::SubOrchestrationFinished {
            execution_id: parent.execution_id,
            source_event_id: parent.event_id,
            result: Err(failure),
        };
        self.push_message(&parent.instance, id, body);
    }

    /// Sends a message to another instance; the id follows from the event, so that it
    /// is the same whenever the turn is run.
    pub(super) fn send(&mut self, source: Source, target: &InstanceId, body: MessageBody) {
        let id = self.message_id(source);
        self.push_message(target, id, body);
    }

    fn message_id(&self, source: Source) -> String {
        let Source {
            execution_id,
            event_id,
        } = source;
        format!("{}/{execution_id}/{event_id}", self.instance)
    }

    fn push_message(&mut self, target: &InstanceId, id: String, body: MessageBody) {
        self.new_messages.push(OutgoingMessage {
            target: target.clone(),
            message: Message {
                message_id: MessageId::from(id),
                body,
            },
        });
    }
}
