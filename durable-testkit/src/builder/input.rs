//! Inputs: what the code is told.

use durable_core::{EarlierAttempts, Event, EventId, EventKind, Failure, MessageId, Name};
use serde::Serialize;

use super::history::HistoryBuilder;

impl HistoryBuilder {
    /// The activity or child of this event succeeds, its promise is resolved, or its request
    /// is answered.
    ///
    /// ```
    /// use durable_testkit::HistoryBuilder;
    ///
    /// let history = HistoryBuilder::new("order-7")
    ///     .started("fulfil", &7)
    ///     .promise("approval")
    ///     .completed(2, &true)
    ///     .build()?;
    /// assert_eq!(history.entries[2].event.to_string(), "PromiseResolved of event 2");
    /// # Ok::<(), durable_testkit::HistoryBuildError>(())
    /// ```
    pub fn completed<T: Serialize + ?Sized>(self, source: u64, value: &T) -> Self {
        let source_event_id = EventId::new(source);
        let kind = self.find(source_event_id).map(Event::kind);
        self.with(value, |event_id, value| match kind {
            Some(EventKind::SubOrchestrationScheduled) => Event::SubOrchestrationCompleted {
                event_id,
                source_event_id,
                result: value,
            },
            Some(EventKind::RequestSent) => Event::RequestCompleted {
                event_id,
                source_event_id,
                result: value,
            },
            Some(EventKind::PromiseCreated) => Event::PromiseResolved {
                event_id,
                source_event_id,
                value,
            },
            _ => Event::ActivityCompleted {
                event_id,
                source_event_id,
                result: value,
                earlier_attempts: EarlierAttempts::NONE,
            },
        })
    }

    /// The activity or child of this event fails, or its promise or request is rejected.
    pub fn failed(self, source: u64, failure: Failure) -> Self {
        let source_event_id = EventId::new(source);
        let kind = self.find(source_event_id).map(Event::kind);
        self.event(|event_id| match kind {
            Some(EventKind::SubOrchestrationScheduled) => Event::SubOrchestrationFailed {
                event_id,
                source_event_id,
                failure,
            },
            Some(EventKind::RequestSent) => Event::RequestFailed {
                event_id,
                source_event_id,
                failure,
            },
            Some(EventKind::PromiseCreated) => Event::PromiseRejected {
                event_id,
                source_event_id,
                failure,
            },
            _ => Event::ActivityFailed {
                event_id,
                source_event_id,
                failure,
                earlier_attempts: EarlierAttempts::NONE,
            },
        })
    }

    /// The timer of this event fires, when it is due or now, if that is later.
    pub fn fired(mut self, source: u64) -> Self {
        let source_event_id = EventId::new(source);
        let fire_at_ms = match self.find(source_event_id) {
            Some(Event::TimerCreated { fire_at_ms, .. }) => *fire_at_ms,
            _ => self.now_ms,
        };
        self.now_ms = self.now_ms.max(fire_at_ms);
        self.event(|event_id| Event::TimerFired {
            event_id,
            source_event_id,
            fire_at_ms,
        })
    }

    /// A client raises an event, under an id of its own.
    pub fn raised<T: Serialize + ?Sized>(self, name: impl Into<Name>, data: &T) -> Self {
        let message_id = format!("message-{}", self.next_event_id());
        self.raised_as(message_id, name, data)
    }

    /// A client raises an event under this id.
    pub fn raised_as<T: Serialize + ?Sized>(
        self,
        message_id: impl Into<MessageId>,
        name: impl Into<Name>,
        data: &T,
    ) -> Self {
        let (message_id, name) = (message_id.into(), name.into());
        self.with(data, |event_id, data| Event::ExternalEvent {
            event_id,
            name,
            data,
            message_id,
        })
    }

    /// A client makes a request, under an id of its own: `request-` and the position.
    pub fn requested<T: Serialize + ?Sized>(self, name: impl Into<Name>, input: &T) -> Self {
        let message_id = MessageId::from(format!("request-{}", self.next_event_id()));
        let name = name.into();
        self.with(input, |event_id, input| Event::RequestReceived {
            event_id,
            name,
            input,
            message_id,
            requester: None,
        })
    }

    /// A client asks the execution to stop.
    pub fn cancel_requested(self, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        self.event(|event_id| Event::OrchestrationCancelRequested { event_id, reason })
    }
}
