//! Timers: set by commits, moved into inboxes when they are due.

use durable_core::provider::{FiredTimers, Message, MessageBody, Timer};
use durable_core::{EventId, ExecutionId, MessageId};
use rusqlite::params;

use super::Store;
use crate::codec::message_bytes;
use crate::error::Step;
use crate::number::{int, limit, uint};
use crate::sql;
use crate::wake::Topic;

/// A timer that is due.
struct DueTimer {
    instance_key: i64,
    execution_id: ExecutionId,
    event_id: EventId,
    fire_at_ms: u64,
}

impl Store<'_, '_> {
    pub(super) fn set_timers(&mut self, key: i64, timers: &[Timer]) -> Step<()> {
        if timers.is_empty() {
            return Ok(());
        }
        let first_due_ms = self.next_timer_ms()?;
        for timer in timers {
            if first_due_ms.is_none_or(|first| timer.fire_at_ms < first) {
                self.note(Topic::Timers);
            }
            let number = int(self.state.next_number());
            self.run(
                sql::TIMER_SET,
                params![
                    key,
                    int(timer.execution_id.get()),
                    int(timer.event_id.get()),
                    int(timer.fire_at_ms),
                    number,
                ],
            )?;
        }
        Ok(())
    }

    pub(super) fn cancel_timers(&self, key: i64, timers: &[(ExecutionId, EventId)]) -> Step<()> {
        for (execution_id, event_id) in timers {
            let timer = [key, int(execution_id.get()), int(event_id.get())];
            self.run(sql::TIMER_DELETE, timer)?;
        }
        Ok(())
    }

    pub(crate) fn fire_timers(&mut self, max: usize) -> Step<FiredTimers> {
        let due = self.due_timers(max)?;
        for timer in &due {
            self.fire(timer)?;
        }
        Ok(FiredTimers {
            now_ms: self.state.now_ms,
            seen: self.state.seen(),
            fired: due.len(),
            next_due_ms: self.next_timer_ms()?,
        })
    }

    fn due_timers(&self, max: usize) -> Step<Vec<DueTimer>> {
        let mut statement = self.statement(sql::TIMERS_DUE)?;
        let due = statement.query_map([int(self.state.now_ms), limit(max)], |row| {
            Ok(DueTimer {
                instance_key: row.get(0)?,
                execution_id: ExecutionId::new(uint(row.get(1)?)),
                event_id: EventId::new(uint(row.get(2)?)),
                fire_at_ms: uint(row.get(3)?),
            })
        })?;
        Ok(due.collect::<Result<_, _>>()?)
    }

    fn fire(&mut self, timer: &DueTimer) -> Step<()> {
        let DueTimer {
            instance_key,
            execution_id,
            event_id,
            fire_at_ms,
        } = *timer;
        debug_assert!(fire_at_ms <= self.state.now_ms, "no timer fires early");
        let place = [instance_key, int(execution_id.get()), int(event_id.get())];
        self.run(sql::TIMER_DELETE, place)?;
        let Some(mut instance) = self.load(instance_key)? else {
            return Ok(());
        };
        let message = Message {
            message_id: MessageId::from(format!("timer/{execution_id}/{event_id}")),
            body: MessageBody::TimerFired {
                execution_id,
                source_event_id: event_id,
                fire_at_ms,
            },
        };
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
