//! Timers: set by commits, moved into inboxes when they are due.

use durable_core::provider::{FiredTimers, Message, MessageBody, Timer};
use durable_core::{InstanceId, MessageId};

use super::state::{MemoryState, PendingTimer, TimerKey};
use super::wake::Topic;

impl MemoryState {
    pub(super) fn set_timers(&mut self, timers: Vec<Timer>) {
        let first_due = self.next_due_ms();
        for timer in timers {
            if first_due.is_none_or(|first| timer.fire_at_ms < first) {
                self.wake.note(Topic::Timers);
            }
            let key = (timer.instance.clone(), timer.execution_id, timer.event_id);
            let number = self.next_number();
            self.timers
                .entry(key)
                .or_insert(PendingTimer { timer, number });
        }
    }

    pub(super) fn fire_timers(&mut self, max: usize) -> FiredTimers {
        let mut due: Vec<(u64, u64, TimerKey)> = self
            .timers
            .iter()
            .filter(|(_, pending)| pending.timer.fire_at_ms <= self.now_ms)
            .map(|(key, pending)| (pending.timer.fire_at_ms, pending.number, key.clone()))
            .collect();
        due.sort();
        due.truncate(max);
        for (_, _, key) in &due {
            if let Some(pending) = self.timers.remove(key) {
                self.put_timer_fired(&pending.timer);
            }
        }
        FiredTimers {
            now_ms: self.now_ms,
            seen: self.wake.seen(),
            fired: due.len(),
            next_due_ms: self.next_due_ms(),
        }
    }

    pub(super) fn drop_timers_of(&mut self, id: &InstanceId) {
        self.timers.retain(|(instance, _, _), _| instance != id);
    }

    fn next_due_ms(&self) -> Option<u64> {
        self.timers
            .values()
            .map(|pending| pending.timer.fire_at_ms)
            .min()
    }

    fn put_timer_fired(&mut self, timer: &Timer) {
        let id = format!("timer/{}/{}", timer.execution_id, timer.event_id);
        let message = Message {
            message_id: MessageId::from(id),
            body: MessageBody::TimerFired {
                execution_id: timer.execution_id,
                source_event_id: timer.event_id,
                fire_at_ms: timer.fire_at_ms,
            },
        };
        self.put_message(&timer.instance, message);
    }
}
