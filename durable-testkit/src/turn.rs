//! A turn in a few words: what a runtime would commit, without a runtime.

use std::sync::atomic::{AtomicU64, Ordering};

use durable_core::provider::{
    Claim, CommitId, CustomStatusUpdate, IdReuse, InboxMessage, InstanceStatus, Message, NewWork,
    NextExecution, OutgoingMessage, ReadyInstance, ReceiptRequest, ReceiptWhen, SourceEvent,
    TurnCommit, WorkKey,
};
use durable_core::{
    ActivityOptions, Attributes, Event, EventId, ExecutionId, Failure, HistoryEntry, InstanceId,
    Name, Payload,
};

/// Builds a [`TurnCommit`] for an instance that was claimed. Each event gets
/// its position, and what belongs to it (a work item, a timer, a status) comes
/// with it.
///
/// ```
/// use std::sync::Arc;
/// use durable_core::provider::{IdReuse, Provider, SessionOptions};
/// use durable_testkit::{MemoryProvider, TurnBuilder, start_message};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let provider = MemoryProvider::new();
/// let session = provider.open_session(SessionOptions::default()).await?;
/// let _ = provider.start(&"order-7".into(), start_message("s1"), IdReuse::Refuse).await?;
/// let ready = provider.fetch_instances(session, 1).await?.instances.remove(0);
///
/// let turn = TurnBuilder::new(&ready, 1_000)
///     .consuming(&ready.messages)
///     .started()
///     .activity("charge")
///     .build();
/// assert_eq!(turn.events.len(), 2);
/// assert_eq!(turn.new_work[0].source.event_id, turn.events[1].event_id());
/// let _ = provider.commit(Arc::new(turn)).await?;
/// # Ok::<(), durable_core::provider::ProviderError>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct TurnBuilder {
    turn: TurnCommit,
    now_ms: u64,
}

impl TurnBuilder {
    /// An empty turn that begins where the instance stood when it was claimed.
    pub fn new(ready: &ReadyInstance, now_ms: u64) -> Self {
        let turn = TurnCommit::new(
            fresh_commit_id(),
            ready.lease.clone(),
            ready.execution_id,
            ready.last_event_id,
        );
        Self { turn, now_ms }
    }

    /// The turn that follows a committed one under the same lease.
    pub fn after(turn: &TurnCommit, now_ms: u64) -> Self {
        let (execution_id, last_event_id) = tail_after(turn);
        let mut ready = ReadyInstance::new(turn.lease.clone(), execution_id);
        ready.last_event_id = last_event_id;
        ready.last_commit_id = Some(turn.commit_id);
        Self::new(&ready, now_ms)
    }

    /// Takes these messages from the inbox.
    pub fn consuming(mut self, messages: &[InboxMessage]) -> Self {
        let places = messages.iter().map(|message| message.seq);
        self.turn.consumed.extend(places);
        self
    }

    /// Appends an event, made from its position.
    pub fn event(mut self, event: impl FnOnce(EventId) -> Event) -> Self {
        let entry = self.entry(event(self.next_event_id()));
        self.turn.events.push(entry);
        self
    }

    /// The execution begins: `fulfil`, version 1.0.0.
    pub fn started(mut self) -> Self {
        self.turn.update.running = Some(("fulfil".into(), "1.0.0".into()));
        self.turn.update.status = Some(InstanceStatus::Running);
        self.event(started)
    }

    /// Calls an activity on the default queue.
    pub fn activity(self, name: impl Into<Name>) -> Self {
        self.activity_on(None, name, "{}")
    }

    /// Calls an activity on this queue with this input.
    pub fn activity_on(
        self,
        queue: Option<Name>,
        name: impl Into<Name>,
        input: impl Into<Payload>,
    ) -> Self {
        let mut options = ActivityOptions::default();
        options.queue = queue;
        self.activity_with(options, name, input)
    }

    /// Calls an activity with these options and this input. A total timeout sets a timer
    /// of the activity's own name.
    pub fn activity_with(
        mut self,
        options: ActivityOptions,
        name: impl Into<Name>,
        input: impl Into<Payload>,
    ) -> Self {
        let number = self.turn.new_work.len() as u64;
        let source = self.next_source();
        self.turn.new_work.push(NewWork::new(source, number));
        if options.total_timeout_ms.is_some() {
            self.turn.new_timers.push(source);
        }
        self.event(|event_id| Event::ActivityScheduled {
            event_id,
            name: name.into(),
            input: input.into(),
            execution_id: source.execution_id,
            options,
        })
    }

    /// Sets a timer.
    pub fn timer(mut self, fire_at_ms: u64) -> Self {
        let source = self.next_source();
        self.turn.new_timers.push(source);
        self.event(|event_id| Event::TimerCreated {
            event_id,
            fire_at_ms,
            execution_id: source.execution_id,
        })
    }

    /// Gives up an activity.
    pub fn cancelling_work(mut self, key: &WorkKey) -> Self {
        self.turn.cancelled_work.push(key.source());
        self.event(|event_id| Event::ActivityCancelRequested {
            event_id,
            source_event_id: key.event_id,
        })
    }

    /// Gives up a timer of this execution.
    pub fn cancelling_timer(mut self, source_event_id: EventId) -> Self {
        let source = SourceEvent::new(self.turn.execution_id, source_event_id);
        self.turn.cancelled_timers.push(source);
        self.event(|event_id| Event::TimerCancelled {
            event_id,
            source_event_id,
        })
    }

    /// Records a result that travelled in memory.
    pub fn finishing_work(mut self, key: &WorkKey, result: impl Into<Payload>) -> Self {
        self.turn.finished_work.push(key.source());
        self.event(|event_id| Event::ActivityCompleted {
            event_id,
            source_event_id: key.event_id,
            result: result.into(),
        })
    }

    /// Sends a message.
    pub fn message(mut self, target: impl Into<InstanceId>, message: Message) -> Self {
        let outgoing = OutgoingMessage::new(target.into(), message);
        self.turn.new_messages.push(outgoing);
        self
    }

    /// Starts an instance; the policy says what a taken id means.
    pub fn starting(
        mut self,
        target: impl Into<InstanceId>,
        start: Message,
        reuse: IdReuse,
    ) -> Self {
        let outgoing = OutgoingMessage::new(target.into(), start).reuse(reuse);
        self.turn.new_messages.push(outgoing);
        self
    }

    /// Sends a message and asks for its receipt.
    pub fn message_with_receipt(
        mut self,
        target: impl Into<InstanceId>,
        message: Message,
        when: ReceiptWhen,
    ) -> Self {
        let target = target.into();
        let source = SourceEvent::new(self.turn.execution_id, self.next_event_id());
        let receipt = match when {
            ReceiptWhen::Always => ReceiptRequest::always(source),
            ReceiptWhen::Undeliverable => ReceiptRequest::if_undeliverable(source),
        };
        let outgoing = OutgoingMessage::new(target.clone(), message).receipt(receipt);
        self.turn.new_messages.push(outgoing);
        self.event(|event_id| Event::ExternalEventSent {
            event_id,
            target,
            name: "news".into(),
            data: "{}".into(),
            awaits_receipt: true,
        })
    }

    /// Sets the custom status.
    pub fn custom_status(mut self, status: impl Into<Payload>) -> Self {
        let status = status.into();
        self.turn.update.custom_status = CustomStatusUpdate::Set(status.clone());
        self.event(|event_id| Event::CustomStatusSet { event_id, status })
    }

    /// Clears the custom status.
    pub fn custom_status_cleared(mut self) -> Self {
        self.turn.update.custom_status = CustomStatusUpdate::Cleared;
        self.event(|event_id| Event::CustomStatusCleared { event_id })
    }

    /// Gives the instance these attributes, and no others.
    pub fn attributes(mut self, attributes: Attributes) -> Self {
        self.turn.update.attributes = Some(attributes);
        self
    }

    /// The code returns this value.
    pub fn completed(mut self, output: impl Into<Payload>) -> Self {
        let output = output.into();
        self.turn.update.status = Some(InstanceStatus::Completed {
            output: output.clone(),
        });
        self.event(|event_id| Event::OrchestrationCompleted { event_id, output })
    }

    /// The instance stops until it is resumed.
    pub fn suspended(mut self, failure: Failure) -> Self {
        self.turn.update.status = Some(InstanceStatus::Suspended { failure });
        self
    }

    /// The code goes on in a new execution.
    pub fn continued_as_new(self) -> Self {
        let mut next = self.event(|event_id| Event::OrchestrationContinuedAsNew {
            event_id,
            input: "{}".into(),
            version: None,
        });
        let first = next.entry(started(EventId::FIRST));
        let execution_id = next.turn.execution_id.next();
        next.turn.next_execution = Some(NextExecution::new(execution_id, vec![first]));
        next
    }

    /// No session may claim the instance before this time.
    pub fn not_before(mut self, not_before_ms: u64) -> Self {
        self.turn.update.not_before_ms = Some(not_before_ms);
        self
    }

    /// The instance cannot go on just now.
    pub fn blocked(mut self, failure: Failure) -> Self {
        self.turn.update.blocked = Some(failure);
        self
    }

    /// The session goes on holding the instance.
    pub fn keeping_the_lease(mut self) -> Self {
        self.turn.keep_lease = true;
        self
    }

    /// Claims at most this much work of the default queue.
    pub fn claiming(self, max: usize) -> Self {
        self.claiming_from(&[None], max)
    }

    /// Claims at most this much work of these queues.
    pub fn claiming_from(mut self, queues: &[Option<Name>], max: usize) -> Self {
        self.turn.claim = Claim::new(max, queues.to_vec());
        self
    }

    /// The position of the next event.
    pub fn next_event_id(&self) -> EventId {
        let last = self.turn.events.last();
        let tail = last.map_or(self.turn.expected_last_event_id, HistoryEntry::event_id);
        tail.next()
    }

    /// The turn.
    pub fn build(self) -> TurnCommit {
        self.turn
    }

    fn next_source(&self) -> SourceEvent {
        SourceEvent::new(self.turn.execution_id, self.next_event_id())
    }

    fn entry(&self, event: Event) -> HistoryEntry {
        HistoryEntry::new(self.now_ms, event)
    }
}

/// The execution and the tail that an instance has when this turn was applied.
pub(crate) fn tail_after(turn: &TurnCommit) -> (ExecutionId, EventId) {
    let tail_of = |entries: &[HistoryEntry]| entries.last().map(HistoryEntry::event_id);
    match &turn.next_execution {
        Some(next) => (
            next.execution_id,
            tail_of(&next.events).unwrap_or(EventId::UNASSIGNED),
        ),
        None => (
            turn.execution_id,
            tail_of(&turn.events).unwrap_or(turn.expected_last_event_id),
        ),
    }
}

fn started(event_id: EventId) -> Event {
    Event::OrchestrationStarted {
        event_id,
        name: "fulfil".into(),
        version: "1.0.0".into(),
        input: "{}".into(),
        parent: None,
        carried: None,
    }
}

/// Unlike a runtime's, not random: unique in this process is enough here.
fn fresh_commit_id() -> CommitId {
    static LAST: AtomicU64 = AtomicU64::new(0);
    CommitId(u128::from(LAST.fetch_add(1, Ordering::Relaxed) + 1))
}
