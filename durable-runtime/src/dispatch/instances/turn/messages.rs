//! The messages of a turn to other instances. The id of a message follows from the event
//! that it is sent for, so that it is the same whenever the turn is run.

use durable_core::provider::{Message, MessageBody, OutgoingMessage, SourceEvent, StartInstance};
use durable_core::{Event, EventId, Failure, FailureKind, InstanceId, MessageId, Parent, Payload};

use super::Batch;

impl Batch {
    /// Events that are messages to other instances.
    pub(super) fn tell_others(&mut self, source: SourceEvent, event: &Event) {
        match event {
            Event::SubOrchestrationScheduled {
                name,
                version,
                instance: child,
                input,
                ..
            } => {
                let mut start = StartInstance::new(name.clone(), input.clone());
                start.version.clone_from(version);
                start.parent = Some(Parent {
                    instance: self.instance.clone(),
                    execution_id: source.execution_id,
                    event_id: source.event_id,
                });
                self.send(source, child, MessageBody::Start(start));
            }
            Event::OrchestrationChained {
                name,
                version,
                instance: started,
                input,
                ..
            } => {
                let mut start = StartInstance::new(name.clone(), input.clone());
                start.version.clone_from(version);
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
        source: SourceEvent,
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
        source: SourceEvent,
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
    pub(super) fn send(&mut self, source: SourceEvent, target: &InstanceId, body: MessageBody) {
        let id = self.message_id(source);
        self.push_message(target, id, body);
    }

    fn message_id(&self, source: SourceEvent) -> String {
        let SourceEvent {
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
