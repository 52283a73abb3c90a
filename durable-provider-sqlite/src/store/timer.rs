//! Timers: set by commits, moved into inboxes when they are due.

use durable_core::MessageId;
use durable_core::provider::{Change, FiredTimers, Message, MessageBody, SourceEvent, TurnCommit};

use super::Store;
use super::work::RowKey;
use crate::codec::message_bytes;
use crate::error::Step;
use crate::number::{int, limit, uint};
use crate::sql;

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
            if first_due_ms.is_none_or(|first| fire_at_ms < first) {
                self.note(Change::Timers);
            }
            let [key, execution, event] = RowKey::new(key, *timer).parameters();
            let number = int(self.state.next_number());
            let set = [key, execution, event, int(fire_at_ms), number];
            self.run(sql::TIMER_SET, set)?;
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
        let SourceEvent {
            execution_id,
            event_id,
        } = key.source;
        let message_id = MessageId::from(format!("timer/{execution_id}/{event_id}"));
        let body = MessageBody::TimerFired {
            execution_id,
            source_event_id: event_id,
            fire_at_ms,
        };
        let message = Message::new(message_id, body);
        let bytes = message_bytes(&message)?;
        if self.put_message(&mut instance, &message.message_id, &bytes)? {
            self.save_place(&instance)?;
        }
        Ok(())
    }

    fn next_timer_ms(&self) -> Step<Option<u64>> {
        Ok(self.number(sql::TIMER_FIRST, [])?.map(uint))
    }
}
