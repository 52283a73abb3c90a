//! The streams of instances.

use std::collections::VecDeque;
use std::ops::Bound;

use durable_core::provider::{
    Change, EmitOutcome, EmitRequest, ProviderError, StreamBounds, StreamItem, StreamList,
    StreamPage, StreamPush, StreamSource, TurnCommit,
};
use durable_core::{InstanceId, Limits, Name};

use super::state::MemoryState;

/// A stream: its latest items.
#[derive(Debug, Default)]
pub(super) struct StoredStream {
    pub(super) bounds: StreamBounds,
    pub(super) items: VecDeque<StreamItem>,
}

impl StoredStream {
    fn push(&mut self, item: StreamItem) {
        self.bounds.end += 1;
        self.bounds.bytes += item.value.len() as u64;
        self.items.push_back(item);
    }

    /// Removes the oldest items until the rest is within the limits.
    fn trim(&mut self, limits: &Limits) {
        while self.items.len() > 1
            && (self.bounds.end - self.bounds.first > limits.max_stream_items
                || self.bounds.bytes > limits.max_stream_bytes)
        {
            let Some(oldest) = self.items.pop_front() else {
                return;
            };
            self.bounds.first += 1;
            self.bounds.bytes -= oldest.value.len() as u64;
        }
    }
}

impl MemoryState {
    /// Adds what a turn pushed.
    pub(super) fn add_pushes(&mut self, turn: &TurnCommit) {
        let source = StreamSource::Orchestration;
        let pushes = turn.pushes.iter().map(|push| (push, source));
        self.add_items(&turn.lease.instance, pushes);
    }

    pub(super) fn emit(&mut self, emitted: &EmitRequest) -> Result<EmitOutcome, ProviderError> {
        self.limits.check_pushes(&emitted.items)?;
        let EmitRequest { lease, attempt, .. } = emitted;
        let Some(work) = self.work.held_under(lease) else {
            return Ok(EmitOutcome::LeaseLost);
        };
        if work.is_cancelled {
            return Ok(EmitOutcome::LeaseLost);
        }
        let added = match work.emitted {
            Some((token, added)) if token == lease.token => added,
            _ => 0,
        };
        let numbered = (emitted.first_number..).zip(&emitted.items);
        let new: Vec<_> = numbered.filter(|(number, _)| *number >= added).collect();
        let Some((last, _)) = new.last() else {
            return Ok(EmitOutcome::Added);
        };
        work.emitted = Some((lease.token, last + 1));
        let source = |number| StreamSource::Activity {
            call: lease.key.source(),
            attempt: *attempt,
            number,
        };
        let new = new.into_iter().map(|(number, push)| (push, source(number)));
        self.add_items(&lease.key.instance, new);
        Ok(EmitOutcome::Added)
    }

    fn add_items<'a>(
        &mut self,
        id: &InstanceId,
        items: impl Iterator<Item = (&'a StreamPush, StreamSource)>,
    ) {
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        let mut is_changed = false;
        for (push, source) in items {
            let stream = instance.streams.entry(push.stream.clone()).or_default();
            let offset = stream.bounds.end;
            stream.push(StreamItem::new(
                offset,
                source,
                self.now_ms,
                push.value.clone(),
            ));
            is_changed = true;
        }
        if is_changed {
            let streams = instance.streams.values_mut();
            streams.for_each(|stream| stream.trim(&self.limits));
            self.wake.note(Change::Streams(id.clone()));
        }
    }

    pub(super) fn stream(
        &self,
        id: &InstanceId,
        stream: &Name,
        from: u64,
        max: usize,
    ) -> StreamPage {
        let instance = self.instances.get(id);
        let Some(stream) = instance.and_then(|instance| instance.streams.get(stream)) else {
            return StreamPage::default();
        };
        let later = stream.items.iter().filter(|item| item.offset >= from);
        StreamPage::new(stream.bounds, later.take(max).cloned().collect())
    }

    pub(super) fn streams(&self, id: &InstanceId, after: Option<&Name>, max: usize) -> StreamList {
        let Some(instance) = self.instances.get(id) else {
            return StreamList::default();
        };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let later = instance.streams.range::<Name, _>((from, Bound::Unbounded));
        let later = later.map(|(name, stream)| (name.clone(), stream.bounds));
        StreamList::first(later.collect(), after, max)
    }
}
