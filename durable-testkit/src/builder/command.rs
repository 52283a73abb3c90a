//! Outputs: what the code does.

use std::time::Duration;

use durable_core::{
    ActivityOptions, AttributeValue, Event, EventId, EventKind, InstanceId, Name, Payload,
    PromiseToken,
};
use serde::Serialize;

use super::history::{HistoryBuilder, whole_ms};

impl HistoryBuilder {
    /// The code calls an activity.
    pub fn activity<T: Serialize + ?Sized>(self, name: impl Into<Name>, input: &T) -> Self {
        self.activity_with(name, input, ActivityOptions::default())
    }

    /// The code calls an activity with these options.
    pub fn activity_with<T: Serialize + ?Sized>(
        self,
        name: impl Into<Name>,
        input: &T,
        options: ActivityOptions,
    ) -> Self {
        let (name, execution_id) = (name.into(), self.execution_id);
        self.with(input, |event_id, input| Event::ActivityScheduled {
            event_id,
            name,
            input,
            execution_id,
            options,
        })
    }

    /// The code sets a timer that is due so much later than the event before it.
    pub fn timer(self, duration: Duration) -> Self {
        let fire_at_ms = self.now_ms.saturating_add(whole_ms(duration));
        let execution_id = self.execution_id;
        self.event(|event_id| Event::TimerCreated {
            event_id,
            fire_at_ms,
            execution_id,
        })
    }

    /// The code waits for an external event.
    pub fn awaiting(self, name: impl Into<Name>) -> Self {
        let name = name.into();
        self.event(|event_id| Event::ExternalSubscribed { event_id, name })
    }

    /// The code listens for all external events of a name.
    pub fn listening(self, name: impl Into<Name>) -> Self {
        let name = name.into();
        self.event(|event_id| Event::ExternalEventsSubscribed { event_id, name })
    }

    /// The code starts a child, under the id that is derived for it.
    pub fn child<T: Serialize + ?Sized>(self, name: impl Into<Name>, input: &T) -> Self {
        let (parent, event_id) = (&self.instance, self.next_event_id());
        let instance = format!("{parent}/{}/{event_id}", self.execution_id);
        self.child_as(name, instance, input)
    }

    /// The code starts a child under this id.
    pub fn child_as<T: Serialize + ?Sized>(
        self,
        name: impl Into<Name>,
        instance: impl Into<InstanceId>,
        input: &T,
    ) -> Self {
        let (name, instance, execution_id) = (name.into(), instance.into(), self.execution_id);
        self.with(input, |event_id, input| Event::SubOrchestrationScheduled {
            event_id,
            name,
            version: None,
            instance,
            input,
            execution_id,
        })
    }

    /// The code starts an orchestration and does not wait for it.
    pub fn detached<T: Serialize + ?Sized>(
        self,
        name: impl Into<Name>,
        instance: impl Into<InstanceId>,
        input: &T,
    ) -> Self {
        let (name, instance) = (name.into(), instance.into());
        self.with(input, |event_id, input| Event::OrchestrationChained {
            event_id,
            name,
            version: None,
            instance,
            input,
            options: None,
        })
    }

    /// A recorded side effect returned this.
    pub fn ran<T: Serialize + ?Sized>(self, name: impl Into<Name>, result: &T) -> Self {
        let name = name.into();
        self.with(result, |event_id, result| Event::OperationCompleted {
            event_id,
            name,
            result: Ok(result),
        })
    }

    /// The code sets a state key.
    pub fn state<T: Serialize + ?Sized>(self, key: impl Into<Name>, value: &T) -> Self {
        let key = key.into();
        self.with(value, |event_id, value| Event::StateSet {
            event_id,
            key,
            value,
        })
    }

    /// The code clears a state key.
    pub fn state_cleared(self, key: impl Into<Name>) -> Self {
        let key = key.into();
        self.event(|event_id| Event::StateCleared { event_id, key })
    }

    /// The code says something of itself.
    pub fn status<T: Serialize + ?Sized>(self, status: &T) -> Self {
        self.with(status, |event_id, status| Event::CustomStatusSet {
            event_id,
            status,
        })
    }

    /// The code no longer says anything of itself.
    pub fn status_cleared(self) -> Self {
        self.event(|event_id| Event::CustomStatusCleared { event_id })
    }

    /// The code sets an attribute.
    pub fn attribute(self, name: impl Into<Name>, value: impl Into<AttributeValue>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.event(|event_id| Event::AttributeSet {
            event_id,
            name,
            value,
        })
    }

    /// The code clears an attribute.
    pub fn attribute_cleared(self, name: impl Into<Name>) -> Self {
        let name = name.into();
        self.event(|event_id| Event::AttributeCleared { event_id, name })
    }

    /// The code creates a promise; they are numbered from 0.
    pub fn promise(self, name: impl Into<Name>) -> Self {
        let promises = self.entries.iter().map(|entry| entry.event.kind());
        let number = promises.filter(|kind| *kind == EventKind::PromiseCreated);
        let (name, number) = (name.into(), number.count() as u64);
        self.event(|event_id| Event::PromiseCreated {
            event_id,
            name,
            number,
        })
    }

    /// The code sends an event to another instance.
    pub fn sent<T: Serialize + ?Sized>(
        self,
        target: impl Into<InstanceId>,
        name: impl Into<Name>,
        data: &T,
    ) -> Self {
        let (target, name) = (target.into(), name.into());
        self.with(data, |event_id, data| Event::ExternalEventSent {
            event_id,
            target,
            name,
            data,
            awaits_receipt: false,
        })
    }

    /// The code sends an event to another instance and waits for its receipt.
    pub fn sent_with_receipt<T: Serialize + ?Sized>(
        self,
        target: impl Into<InstanceId>,
        name: impl Into<Name>,
        data: &T,
    ) -> Self {
        let (target, name) = (target.into(), name.into());
        self.with(data, |event_id, data| Event::ExternalEventSent {
            event_id,
            target,
            name,
            data,
            awaits_receipt: true,
        })
    }

    /// The code resolves a promise of another instance.
    pub fn resolution_sent<T: Serialize + ?Sized>(self, target: PromiseToken, value: &T) -> Self {
        self.with(value, |event_id, value: Payload| {
            Event::PromiseResolutionSent {
                event_id,
                target,
                resolution: Ok(value),
            }
        })
    }

    /// The code takes the new path of a patch.
    pub fn patched(self, patch_id: impl Into<Name>) -> Self {
        let patch_id = patch_id.into();
        self.event(|event_id| Event::PatchMarked { event_id, patch_id })
    }

    /// The code gives up the activity, timer or child of this event.
    pub fn cancelled(self, source: u64) -> Self {
        let source_event_id = EventId::new(source);
        let kind = self.find(source_event_id).map(Event::kind);
        self.event(|event_id| match kind {
            Some(EventKind::ActivityScheduled) => Event::ActivityCancelRequested {
                event_id,
                source_event_id,
            },
            Some(EventKind::SubOrchestrationScheduled) => Event::SubOrchestrationCancelRequested {
                event_id,
                source_event_id,
            },
            _ => Event::TimerCancelled {
                event_id,
                source_event_id,
            },
        })
    }
}
