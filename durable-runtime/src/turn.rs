//! A turn: messages in, one commit out.
//!
//! Each message is one step: it is appended as an input, the code runs to its
//! rest, its outputs are appended, and only then the next message is taken. What
//! a step emitted becomes part of the commit when the step is whole; a step that
//! fails leaves nothing.

use durable_core::provider::{
    InboxMessage, InboxSeq, InstanceStatus, InstanceUpdate, Message, MessageBody, NextExecution,
    OutgoingMessage, StartInstance, Timer, WorkItem, WorkKey, WorkLease,
};
use durable_core::{
    Event, EventId, ExecutionId, Failure, FailureKind, HistoryEntry, InstanceId, MessageId, Parent,
    Payload,
};

use crate::execution::Execution;

/// Something that reached an instance.
#[derive(Debug, Clone)]
pub(crate) enum Arrival {
    /// A message from the inbox.
    Message(InboxMessage),
    /// The result of an activity that ran on this node.
    Result {
        lease: WorkLease,
        result: Result<Payload, Failure>,
    },
    /// An activity that ran on this node gave its result, or its retry, to the
    /// store.
    Settled(WorkKey),
}

/// What a turn has gathered for its commit.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) events: Vec<HistoryEntry>,
    pub(crate) next_execution: Option<NextExecution>,
    pub(crate) consumed: Vec<InboxSeq>,
    pub(crate) finished_work: Vec<WorkKey>,
    pub(crate) new_work: Vec<WorkItem>,
    pub(crate) cancelled_work: Vec<WorkKey>,
    pub(crate) new_timers: Vec<Timer>,
    pub(crate) cancelled_timers: Vec<(ExecutionId, EventId)>,
    pub(crate) new_messages: Vec<OutgoingMessage>,
    pub(crate) update: InstanceUpdate,
}

impl Batch {
    /// Whether committing it would change nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
            && self.next_execution.is_none()
            && self.consumed.is_empty()
            && self.finished_work.is_empty()
            && self.new_messages.is_empty()
            && self.update == InstanceUpdate::default()
    }

    /// Whether the instance ends with this commit.
    pub(crate) fn ends_instance(&self) -> bool {
        let status = self.update.status.as_ref();
        status.is_some_and(|status| status.kind().is_ended())
    }

    /// The arrival was dealt with: it leaves the inbox, or its work its queue.
    pub(crate) fn consume(&mut self, arrival: &Arrival) {
        match arrival {
            Arrival::Message(message) => self.consumed.push(message.seq),
            Arrival::Result { lease, .. } => self.finished_work.push(lease.key.clone()),
            Arrival::Settled(_) => {}
        }
    }

    /// Takes over what the execution appended, and what follows from it.
    pub(crate) fn absorb(&mut self, instance: &InstanceId, execution: &mut Execution) {
        let execution_id = execution.execution_id();
        let entries = execution.take_appended();
        for entry in &entries {
            self.follow(instance, execution, entry);
        }
        match &mut self.next_execution {
            Some(next) if next.execution_id == execution_id => next.events.extend(entries),
            _ => self.events.extend(entries),
        }
    }

    /// What one event asks of the world.
    fn follow(&mut self, instance: &InstanceId, execution: &mut Execution, entry: &HistoryEntry) {
        let execution_id = execution.execution_id();
        let child = execution.note_child(&entry.event);
        let event_id = entry.event_id();
        match &entry.event {
            Event::OrchestrationStarted { name, version, .. } => {
                self.update.running = Some((name.clone(), version.clone()));
                self.update.status = Some(InstanceStatus::Running);
            }
            Event::ActivityScheduled {
                name,
                input,
                options,
                ..
            } => self.new_work.push(WorkItem {
                key: work_key(instance, execution_id, event_id),
                name: name.clone(),
                input: input.clone(),
                options: options.clone(),
                scheduled_at_ms: entry.recorded_at_ms,
            }),
            Event::ActivityCancelRequested {
                source_event_id, ..
            } => self.cancel_work(work_key(instance, execution_id, *source_event_id)),
            Event::TimerCreated { fire_at_ms, .. } => self.new_timers.push(Timer {
                instance: instance.clone(),
                execution_id,
                event_id,
                fire_at_ms: *fire_at_ms,
            }),
            Event::TimerCancelled {
                source_event_id, ..
            } => self.cancel_timer(execution_id, *source_event_id),
            Event::SubOrchestrationScheduled {
                name,
                version,
                instance: child,
                input,
                ..
            } => {
                let parent = Parent {
                    instance: instance.clone(),
                    execution_id,
                    event_id,
                };
                let start = StartInstance {
                    name: name.clone(),
                    version: version.clone(),
                    input: input.clone(),
                    parent: Some(parent),
                };
                self.send(
                    instance,
                    execution_id,
                    event_id,
                    child,
                    MessageBody::Start(start),
                );
            }
            Event::SubOrchestrationCancelRequested { .. } => {
                if let Some(child) = child {
                    let reason = "its parent no longer waits for it".into();
                    let body = MessageBody::Cancel { reason };
                    self.send(instance, execution_id, event_id, &child, body);
                }
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
                self.send(
                    instance,
                    execution_id,
                    event_id,
                    started,
                    MessageBody::Start(start),
                );
            }
            Event::ExternalEventSent {
                target, name, data, ..
            } => {
                let body = MessageBody::ExternalRaised {
                    name: name.clone(),
                    data: data.clone(),
                };
                self.send(instance, execution_id, event_id, target, body);
            }
            Event::PromiseResolutionSent {
                target, resolution, ..
            } => {
                let body = MessageBody::PromiseSettled {
                    execution_id: target.execution_id,
                    number: target.number,
                    resolution: resolution.clone(),
                };
                self.send(instance, execution_id, event_id, &target.instance, body);
            }
            Event::CustomStatusSet { status, .. } => {
                self.update.custom_status = Some(status.clone());
            }
            Event::OrchestrationCompleted { output, .. } => {
                let status = InstanceStatus::Completed {
                    output: output.clone(),
                };
                self.end(instance, execution, event_id, status, Ok(output.clone()));
            }
            Event::OrchestrationFailed { failure, .. } => {
                let status = InstanceStatus::Failed {
                    failure: failure.clone(),
                };
                self.end(instance, execution, event_id, status, Err(failure.clone()));
            }
            Event::OrchestrationTerminated { failure, .. } => {
                let status = InstanceStatus::Terminated {
                    failure: failure.clone(),
                };
                self.end(instance, execution, event_id, status, Err(failure.clone()));
            }
            Event::OrchestrationContinuedAsNew { .. } => {
                self.give_up_children(instance, execution, event_id);
            }
            _ => {}
        }
    }

    /// The instance ends: its parent is told, its children are asked to stop.
    fn end(
        &mut self,
        instance: &InstanceId,
        execution: &mut Execution,
        event_id: EventId,
        status: InstanceStatus,
        result: Result<Payload, Failure>,
    ) {
        self.update.status = Some(status);
        self.give_up_children(instance, execution, event_id);
        let parent = execution
            .identity()
            .and_then(|identity| identity.parent.clone());
        if let Some(parent) = parent {
            let body = MessageBody::SubOrchestrationFinished {
                execution_id: parent.execution_id,
                source_event_id: parent.event_id,
                result,
            };
            self.send(
                instance,
                execution.execution_id(),
                event_id,
                &parent.instance,
                body,
            );
        }
    }

    fn give_up_children(
        &mut self,
        instance: &InstanceId,
        execution: &mut Execution,
        event_id: EventId,
    ) {
        for (scheduled, child) in execution.take_children() {
            let body = MessageBody::Cancel {
                reason: "its parent has ended".into(),
            };
            let id = format!(
                "{instance}/{}/{event_id}/{scheduled}",
                execution.execution_id()
            );
            self.new_messages.push(OutgoingMessage {
                target: child,
                message: Message {
                    message_id: MessageId::from(id),
                    body,
                },
            });
        }
    }

    /// Tells another instance something; the id follows from the event, so that it
    /// is the same whenever the turn is run.
    fn send(
        &mut self,
        instance: &InstanceId,
        execution_id: ExecutionId,
        event_id: EventId,
        target: &InstanceId,
        body: MessageBody,
    ) {
        let message_id = MessageId::from(format!("{instance}/{execution_id}/{event_id}"));
        self.new_messages.push(OutgoingMessage {
            target: target.clone(),
            message: Message { message_id, body },
        });
    }

    /// A start that came too late or for a taken id: whoever waits is told.
    pub(crate) fn refuse_start(&mut self, instance: &InstanceId, start: &StartInstance) {
        let Some(parent) = &start.parent else {
            return;
        };
        let failure = Failure::new(
            FailureKind::InstanceExists,
            format!("an instance with the id `{instance}` exists"),
        );
        let id = format!(
            "{}/{}/{}/refused",
            parent.instance, parent.execution_id, parent.event_id
        );
        self.new_messages.push(OutgoingMessage {
            target: parent.instance.clone(),
            message: Message {
                message_id: MessageId::from(id),
                body: MessageBody::SubOrchestrationFinished {
                    execution_id: parent.execution_id,
                    source_event_id: parent.event_id,
                    result: Err(failure),
                },
            },
        });
    }

    /// Work that was scheduled in this very turn is not even created.
    fn cancel_work(&mut self, key: WorkKey) {
        let before = self.new_work.len();
        self.new_work.retain(|item| item.key != key);
        if self.new_work.len() == before {
            self.cancelled_work.push(key);
        }
    }

    /// A timer that was set in this very turn is not even created.
    fn cancel_timer(&mut self, execution_id: ExecutionId, event_id: EventId) {
        let before = self.new_timers.len();
        self.new_timers
            .retain(|timer| (timer.execution_id, timer.event_id) != (execution_id, event_id));
        if self.new_timers.len() == before {
            self.cancelled_timers.push((execution_id, event_id));
        }
    }
}

pub(crate) fn work_key(
    instance: &InstanceId,
    execution_id: ExecutionId,
    event_id: EventId,
) -> WorkKey {
    WorkKey {
        instance: instance.clone(),
        execution_id,
        event_id,
    }
}
