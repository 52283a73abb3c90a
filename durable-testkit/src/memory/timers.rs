//! Timers: set by commits, moved into inboxes when they are due.

use durable_core::InstanceId;
use durable_core::provider::{Change, FiredTimers, Message, SourceEvent};

use super::state::{MemoryState, PendingTimer};

impl MemoryState {
    pub(super) fn set_timer(&mut self, instance: &InstanceId, source: SourceEvent, due_ms: u64) {
        if self.next_due_ms().is_none_or(|first| due_ms < first) {
            self.wake.note(Change::Timers);
        }
        let number = self.next_number();
        self.timers
            .entry((instance.clone(), source))
            .or_insert(PendingTimer { due_ms, number });
    }

    pub(super) fn fire_timers(&mut self, max: usize) -> FiredTimers {
        let mut due: Vec<_> = self
            .timers
            .iter()
            .filter(|(_, timer)| timer.due_ms <= self.now_ms)
            .map(|(key, timer)| (timer.due_ms, timer.number, key.clone()))
            .collect();
        due.sort();
        due.truncate(max);
        for (due_ms, _, (instance, source)) in &due {
            self.timers.remove(&(instance.clone(), *source));
            self.put_timer_fired(instance, *source, *due_ms);
        }
        let mut fired = FiredTimers::default();
        fired.seen = self.wake.seen();
        fired.fired = due.len();
        fired.next_due_ms = self.next_due_ms();
        fired
    }

    pub(super) fn drop_timers_of(&mut self, id: &InstanceId) {
        self.timers.retain(|(instance, _), _| instance != id);
    }

    fn next_due_ms(&self) -> Option<u64> {
        self.timers.values().map(|timer| timer.due_ms).min()
    }

    fn put_timer_fired(&mut self, instance: &InstanceId, source: SourceEvent, fire_at_ms: u64) {
        let message = Message::timer_fired(source, fire_at_ms);
        let is_hard_stop = message.body.is_hard_stop();
        self.put_message(instance, message);
        if is_hard_stop {
            let _ = self.resume(instance);
        }
    }
}
