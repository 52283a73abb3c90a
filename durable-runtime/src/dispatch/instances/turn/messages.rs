//! The messages of a turn to other instances. The id of a message follows from the event
//! that it is sent for, so that it is the same whenever the turn is run.

use durable_core::provider::{Message, MessageBody, OutgoingMessage, SourceEvent, StartInstance};
use durable_core::{
    EventId, Failure, FailureKind, InstanceId, InstanceStart, MessageId, Name, Parent, Payload,
    PromiseToken,
};

use super::Batch;
use crate::execution::LiveExecution;

impl Batch {
    /// Starts a child of this instance.
    pub(super) fn start_child(
        &mut self,
        live: &LiveExecution,
        source: SourceEvent,
        start: InstanceStart<'_>,
    ) {
        let parent = Parent::new(self.instance.clone(), source.execution_id, source.event_id);
        self.start(live, source, start, Some(parent));
    }

    /// Starts an instance that has no parent.
    pub(super) fn start_detached(
        &mut self,
        live: &LiveExecution,
        source: SourceEvent,
        start: InstanceStart<'_>,
    ) {
        self.start(live, source, start, None);
    }

    /// What this instance starts belongs to its own trace.
    fn start(
        &mut self,
        live: &LiveExecution,
        source: SourceEvent,
        start: InstanceStart<'_>,
        parent: Option<Parent>,
    ) {
        let mut body = StartInstance::new(start.name.clone(), start.input.clone());
        body.version = start.version.cloned();
        body.parent = parent;
        body.trace_parent = live.execution.trace_parent();
        self.send(source, start.instance, MessageBody::Start(body));
    }

    /// Asks a child to stop that the code no longer waits for.
    pub(super) fn cancel_child(&mut self, source: SourceEvent, child: &InstanceId) {
        let reason = "its parent no longer waits for it".into();
        self.send(source, child, MessageBody::Cancel { reason });
    }

    /// Raises an event at another instance.
    pub(super) fn raise(
        &mut self,
        source: SourceEvent,
        target: &InstanceId,
        name: &Name,
        data: &Payload,
    ) {
        let (name, data) = (name.clone(), data.clone());
        self.send(source, target, MessageBody::ExternalRaised { name, data });
    }

    /// Resolves or rejects a promise of another instance.
    pub(super) fn settle_promise(
        &mut self,
        source: SourceEvent,
        target: &PromiseToken,
        resolution: &Result<Payload, Failure>,
    ) {
        let body = MessageBody::PromiseSettled {
            execution_id: target.execution_id,
            number: target.number,
            resolution: resolution.clone(),
        };
        self.send(source, &target.instance, body);
    }

    /// Asks the child that this event scheduled to stop: its parent has ended.
    pub(super) fn give_up(&mut self, source: SourceEvent, scheduled: EventId, child: &InstanceId) {
        let body = MessageBody::Cancel {
            reason: "its parent has ended".into(),
        };
        let id = format!("{}/{scheduled}", self.message_id(source));
        self.push_message(child, id, body);
    }

    /// Gives the result of the instance to its parent.
    pub(super) fn answer(
        &mut self,
        source: SourceEvent,
        parent: &Parent,
        result: Result<Payload, Failure>,
    ) {
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
    fn send(&mut self, source: SourceEvent, target: &InstanceId, body: MessageBody) {
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
