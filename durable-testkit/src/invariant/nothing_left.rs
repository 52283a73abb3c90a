//! What has ended leaves nothing behind: no work, no timer, no message, no lease.

use super::{Invariant, InvariantViolation};
use crate::memory::Snapshot;

#[derive(Debug)]
pub(super) struct NothingLeft;

impl Invariant for NothingLeft {
    fn name(&self) -> &'static str {
        "nothing_is_left"
    }

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        let has_ended = |id| {
            let instance = snapshot.instances.get(id);
            instance.is_none_or(|instance| instance.record.status.kind().is_ended())
        };
        let works = snapshot.work.keys().find(|key| has_ended(&key.instance));
        if let Some(key) = works {
            let what = format!("its work {} is left", key.event_id);
            return Err(InvariantViolation::of(&key.instance, what));
        }
        let timer = snapshot
            .timers
            .iter()
            .find(|timer| has_ended(&timer.instance));
        if let Some(timer) = timer {
            let what = format!("its timer {} is left", timer.source.event_id);
            return Err(InvariantViolation::of(&timer.instance, what));
        }
        for (id, instance) in &snapshot.instances {
            if !has_ended(id) {
                continue;
            }
            if let Some(message) = instance.inbox.first() {
                let what = format!("its message `{}` is left", message.message_id);
                return Err(InvariantViolation::of(id, what));
            }
            if let Some(holder) = instance.holder {
                return Err(InvariantViolation::of(
                    id,
                    format!("{holder} still holds it"),
                ));
            }
        }
        Ok(())
    }
}
