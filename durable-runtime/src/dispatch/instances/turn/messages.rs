//! The messages of a turn to other instances. The id of a message follows from the event
//! that it is sent for, so that it is the same whenever the turn is run.

use durable_core::provider::{
    Message, MessageBody, OutgoingMessage, ReceiptRequest, SourceEvent, StartInstance,
};
use durable_core::{
    DetachedOptions, EventId, Failure, FailureKind, InstanceId, InstanceStart, MessageId, Name,
    Parent, Payload, PromiseToken, UnreadEvent,
};

use super::Batch;

impl Batch {
    /// Starts a child of this instance.
    pub(super) fn start_child(&mut self, source: SourceEvent, start: InstanceStart<'_>) {
        let parent = Parent::new(self.instance.clone(), source.execution_id, source.event_id);
        let body = start_of(start).parent(parent);
        self.send(source, start.instance, MessageBody::Start(body));
    }

    /// Starts an instance that has no parent.
    pub(super) fn start_detached(
        &mut self,
        source: SourceEvent,
        start: InstanceStart<'_>,
        options: Option<&DetachedOptions>,
    ) {
        let mut body = start_of(start);
        let Some(options) = options else {
            return self.send(source, start.instance, MessageBody::Start(body));
        };
        let id = self.message_id(source);
        let events = options.events.iter().enumerate();
        body.events = events
            .map(|(number, (name, data))| {
                let message_id = MessageId::from(format!("{id}/{number}"));
                UnreadEvent::new(name.clone(), data.clone(), message_id)
            })
            .collect();
        body.begins_at_ms = options.begins_at_ms;
        body.deadline_ms = options.deadline_ms;
        self.send(source, start.instance, MessageBody::Start(body));
        if let Some(latest) = self.new_messages.last_mut() {
            latest.reuse = options.reuse;
        }
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
        let message = Message::new(MessageId::from(id), body);
        self.new_messages
            .push(OutgoingMessage::new(target.clone(), message));
    }

    /// The code is to be told what becomes of the latest message.
    pub(super) fn ask_for_receipt(&mut self, receipt: ReceiptRequest) {
        if let Some(latest) = self.new_messages.last_mut() {
            latest.receipt = Some(receipt);
        }
    }
}

/// The start that an event of this instance asks for.
fn start_of(start: InstanceStart<'_>) -> StartInstance {
    let mut body = StartInstance::new(start.name.clone(), start.input.clone());
    body.version = start.version.cloned();
    body
}
