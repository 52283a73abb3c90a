//! Timers: set by commits, moved into inboxes when they are due.

use durable_core::provider::{Change, FiredTimers, Message, StartInstance, TurnCommit};

use super::Store;
use super::instance::Instance;
use super::work::RowKey;
use crate::codec::message_bytes;
use crate::error::Step;
use crate::number::{int, limit, uint};
use crate::sql;
use crate::turn::OutgoingBytes;

/// A timer that is due.
struct DueTimer {
    key: RowKey,
    fire_at_ms: u64,
}

impl Store<'_, '_> {
    pub(super) fn set_timers(&mut self, key: i64, turn: &TurnCommit) -> Step<()> {
        if turn.new_timers.is_empty() {
            return Ok(());
        }
        let first_due_ms = self.next_timer_ms()?;
        for timer in &turn.new_timers {
            let Some(fire_at_ms) = turn.timer_due_ms(*timer) else {
                continue;
            };
            self.set_timer(RowKey::new(key, *timer), fire_at_ms, first_due_ms)?;
        }
        Ok(())
    }

    pub(super) fn cancel_timers(&self, key: i64, turn: &TurnCommit) -> Step<()> {
        for timer in &turn.cancelled_timers {
            let timer = RowKey::new(key, *timer);
            self.run(sql::TIMER_DELETE, timer.parameters())?;
        }
        Ok(())
    }

    pub(crate) fn fire_timers(&mut self, max: usize) -> Step<FiredTimers> {
        let due = self.due_timers(max)?;
        for timer in &due {
            self.fire(timer)?;
        }
        let mut fired = FiredTimers::default();
        fired.seen = self.state.seen();
        fired.fired = due.len();
        fired.next_due_ms = self.next_timer_ms()?;
        Ok(fired)
    }

    fn due_timers(&self, max: usize) -> Step<Vec<DueTimer>> {
        let mut statement = self.statement(sql::TIMERS_DUE)?;
        let due = statement.query_map([int(self.state.now_ms), limit(max)], |row| {
            Ok(DueTimer {
                key: RowKey::from_row(row, 0)?,
                fire_at_ms: uint(row.get(3)?),
            })
        })?;
        Ok(due.collect::<Result<_, _>>()?)
    }

    fn fire(&mut self, timer: &DueTimer) -> Step<()> {
        let DueTimer { key, fire_at_ms } = *timer;
        debug_assert!(fire_at_ms <= self.state.now_ms, "no timer fires early");
        self.run(sql::TIMER_DELETE, key.parameters())?;
        let Some(mut instance) = self.load(key.instance_key)? else {
            return Ok(());
        };
        let message = Message::timer_fired(key.source, fire_at_ms);
        let bytes = message_bytes(&message)?;
        let mut has_moved =
            self.put_outgoing(&mut instance, OutgoingBytes::of(&message, &bytes))?;
        if message.body.is_hard_stop() && instance.is_suspended() {
            let id = self.id_of(instance.key)?;
            self.resume_instance(&id, &mut instance)?;
            has_moved = true;
        }
        if has_moved {
            self.save_place(&instance)?;
        }
        Ok(())
    }

    /// Sets the timer that ends an instance.
    pub(super) fn set_deadline(&mut self, instance: &Instance, start: &StartInstance) -> Step<()> {
        let Some((deadline, fire_at_ms)) = start.deadline(instance.execution_id) else {
            return Ok(());
        };
        let first_due_ms = self.next_timer_ms()?;
        self.set_timer(
            RowKey::new(instance.key, deadline),
            fire_at_ms,
            first_due_ms,
        )
    }

    fn set_timer(&mut self, timer: RowKey, fire_at_ms: u64, first_due_ms: Option<u64>) -> Step<()> {
        if first_due_ms.is_none_or(|first| fire_at_ms < first) {
            self.note(Change::Timers);
        }
        let [key, execution, event] = timer.parameters();
        let number = int(self.state.next_number());
        let set = [key, execution, event, int(fire_at_ms), number];
        self.run(sql::TIMER_SET, set)?;
        Ok(())
    }

    fn next_timer_ms(&self) -> Step<Option<u64>> {
        Ok(self.number(sql::TIMER_FIRST, [])?.map(uint))
    }
}
