//! Offsets of streams have no gaps, and what orchestrations pushed is there once, in the order of
//! their turns.

use std::collections::BTreeMap;

use durable_core::provider::{CommitOutcome, StreamItem, StreamSource};
use durable_core::{InstanceId, Name, Payload};

use super::{Invariant, InvariantViolation, is_purged};
use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::Observed;

/// What the turns of each instance have pushed to each stream.
#[derive(Debug, Default)]
pub(super) struct StreamsWhole {
    pushed: BTreeMap<InstanceId, BTreeMap<Name, Vec<Payload>>>,
}

impl Invariant for StreamsWhole {
    fn name(&self) -> &'static str {
        "streams_are_whole"
    }

    fn saw(
        &mut self,
        seen: &Observed<'_>,
        store: &MemoryProvider,
    ) -> Result<(), InvariantViolation> {
        match seen {
            Observed::Committed {
                turn,
                outcome: CommitOutcome::Done(_),
                ..
            } => {
                let streams = self.pushed.entry(turn.lease.instance.clone()).or_default();
                for push in &turn.pushes {
                    let items = streams.entry(push.stream.clone()).or_default();
                    items.push(push.value.clone());
                }
            }
            Observed::Purged { purge, .. } => {
                let snapshot = store.snapshot();
                self.pushed.retain(|id, _| !is_purged(purge, id, &snapshot));
            }
            _ => {}
        }
        Ok(())
    }

    fn look(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for (id, instance) in &snapshot.instances {
            for (name, items) in &instance.streams {
                let pushed = self.pushed.get(id).and_then(|streams| streams.get(name));
                let pushed = pushed.map_or(&[][..], Vec::as_slice);
                check(items, pushed).map_err(|what| {
                    InvariantViolation::of(id, format!("stream `{name}`: {what}"))
                })?;
            }
        }
        Ok(())
    }
}

fn check(items: &[StreamItem], pushed: &[Payload]) -> Result<(), String> {
    let first = items.first().map_or(0, |item| item.offset);
    if let Some((expected, item)) = (first..).zip(items).find(|(at, item)| item.offset != *at) {
        return Err(format!("item {} stands where {expected} must", item.offset));
    }
    let own = items.iter();
    let own = own.filter(|item| item.source == StreamSource::Orchestration);
    let own: Vec<&Payload> = own.map(|item| &item.value).collect();
    // Of a stream that was shortened the latest are there.
    let latest = &pushed[pushed.len().saturating_sub(own.len())..];
    let is_whole = first > 0 || own.len() == pushed.len();
    if !is_whole || !own.iter().copied().eq(latest) {
        return Err(format!("it has {own:?}, and {pushed:?} were pushed"));
    }
    Ok(())
}
