//! No timer fires before it is due by the store's clock, and history says so too.

use durable_core::Event;
use durable_core::provider::{MessageBody, Provider};

use super::{Invariant, InvariantViolation};
use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::Observed;

#[derive(Debug)]
pub(super) struct NoEarlyTimer;

impl Invariant for NoEarlyTimer {
    fn name(&self) -> &'static str {
        "no_timer_early"
    }

    fn saw(
        &mut self,
        seen: &Observed<'_>,
        store: &MemoryProvider,
    ) -> Result<(), InvariantViolation> {
        let Observed::HandedOut { ready } = seen else {
            return Ok(());
        };
        let now_ms = store.now_ms();
        for inbox in &ready.messages {
            if let MessageBody::TimerFired { fire_at_ms, .. }
            | MessageBody::DeadlinePassed {
                deadline_ms: fire_at_ms,
            } = inbox.message.body
                && fire_at_ms > now_ms
            {
                return Err(InvariantViolation::of(
                    &ready.lease.instance,
                    format!("a timer that is due at {fire_at_ms} was delivered at {now_ms}"),
                ));
            }
        }
        Ok(())
    }

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for ((instance, _), entries) in &snapshot.histories {
            for entry in entries {
                if let Event::TimerFired { fire_at_ms, .. } = entry.event
                    && (entry.recorded_at_ms < fire_at_ms || snapshot.now_ms < fire_at_ms)
                {
                    let at_ms = entry.recorded_at_ms;
                    return Err(InvariantViolation::of(
                        instance,
                        format!("a timer that is due at {fire_at_ms} was recorded at {at_ms}"),
                    ));
                }
            }
        }
        Ok(())
    }
}
