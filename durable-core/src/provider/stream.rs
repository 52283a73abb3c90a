//! Streams of instances: items that orchestrations push and activities emit, for clients to read
//! by offset. They are outside of the history, and no orchestration reads them.

use alloc::vec::Vec;

use super::work::{SourceEvent, WorkLease};
use crate::text::{Name, Payload};

/// An item on its way into a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPush {
    /// The stream.
    pub stream: Name,
    /// The item.
    pub value: Payload,
}

/// Items that an attempt of an activity emits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EmitRequest {
    /// The right to do so: that to settle the work.
    pub lease: WorkLease,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// The number of the first of these items; those after it follow. The items of an attempt
    /// are numbered from 0 on, whatever their streams: those that were added under this lease
    /// before are not added again.
    pub first_number: u64,
    /// The items, in order.
    pub items: Vec<StreamPush>,
}

impl EmitRequest {
    /// The items of the first attempt, from the first one on.
    pub const fn new(lease: WorkLease, items: Vec<StreamPush>) -> Self {
        Self {
            lease,
            attempt: 1,
            first_number: 0,
            items,
        }
    }
}

/// What a provider did with items that an activity emitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum EmitOutcome {
    /// The items are in their streams.
    Added,
    /// The lease is no longer held, or the work was cancelled: nothing was added.
    LeaseLost,
}

/// Where an item of a stream comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StreamSource {
    /// The orchestration pushed it.
    Orchestration,
    /// An activity emitted it.
    Activity {
        /// The event that scheduled the activity.
        call: SourceEvent,
        /// Which attempt did, from 1. A later attempt may emit the same again.
        attempt: u32,
        /// Which item of the attempt it is, from 0.
        number: u64,
    },
}

/// An item of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamItem {
    /// Its place in the stream, from 0, without gaps.
    pub offset: u64,
    /// Where it comes from.
    pub source: StreamSource,
    /// The store's time when it was added.
    pub added_at_ms: u64,
    /// The item.
    pub value: Payload,
}

impl StreamItem {
    /// An item at this place.
    pub const fn new(offset: u64, source: StreamSource, added_at_ms: u64, value: Payload) -> Self {
        Self {
            offset,
            source,
            added_at_ms,
            value,
        }
    }
}

/// Which items of a stream are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StreamBounds {
    /// The offset of the first item that is stored.
    pub first: u64,
    /// The offset that the next item gets.
    pub end: u64,
    /// The bytes of the values that are stored.
    pub bytes: u64,
}

/// A part of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StreamPage {
    /// Which items are stored.
    pub bounds: StreamBounds,
    /// Items from the offset that was asked for, or from the first one that is stored.
    pub items: Vec<StreamItem>,
}

impl StreamPage {
    /// These items of a stream.
    pub const fn new(bounds: StreamBounds, items: Vec<StreamItem>) -> Self {
        Self { bounds, items }
    }
}

/// A part of the list of the streams of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StreamList {
    /// The streams, by name.
    pub streams: Vec<(Name, StreamBounds)>,
    /// The name to go on after, if there is more.
    pub next: Option<Name>,
}

impl StreamList {
    /// The first `max` of what comes after `after`: all that there is, or more than `max`, by
    /// name.
    pub fn first(mut streams: Vec<(Name, StreamBounds)>, after: Option<&Name>, max: usize) -> Self {
        let has_more = streams.len() > max;
        streams.truncate(max);
        let last = streams.last().map(|(name, _)| name).or(after);
        Self {
            next: last.filter(|_| has_more).cloned(),
            streams,
        }
    }
}
