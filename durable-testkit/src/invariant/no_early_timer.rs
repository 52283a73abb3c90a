//! No timer fires before it is due by the store's clock, and history says so too.

use durable_core::Event;
use durable_core::provider::MessageBody;

use super::{Breach, Invariant};
use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::Seen;

#[derive(Debug)]
pub(super) struct NoEarlyTimer;

impl Invariant for NoEarlyTimer {
    fn name(&self) -> &'static str {
        "no_timer_early"
    }

    fn saw(&mut self, seen: &Seen<'_>, _: &MemoryProvider) -> Result<(), Breach> {
        let Seen::HandedOut { now_ms, ready } = seen else {
            return Ok(());
        };
        for inbox in &ready.messages {
            if let MessageBody::TimerFired { fire_at_ms, .. } = inbox.message.body
                && fire_at_ms > *now_ms
            {
                return Err(Breach::of(
                    &ready.lease.instance,
                    format!("a timer that is due at {fire_at_ms} was delivered at {now_ms}"),
                ));
            }
        }
        Ok(())
    }

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), Breach> {
        for ((instance, _), entries) in &snapshot.histories {
            for entry in entries {
                if let Event::TimerFired { fire_at_ms, .. } = entry.event
                    && (entry.recorded_at_ms < fire_at_ms || snapshot.now_ms < fire_at_ms)
                {
                    let at_ms = entry.recorded_at_ms;
                    return Err(Breach::of(
                        instance,
                        format!("a timer that is due at {fire_at_ms} was recorded at {at_ms}"),
                    ));
                }
            }
        }
        Ok(())
    }
}
