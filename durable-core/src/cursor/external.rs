//! External events by name: those that arrived and were not read, and the
//! subscriptions that wait.
//!
//! Of one name there are never both: the second to come is matched with the first.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use super::small_map::SmallMap;
use crate::event::UnreadEvent;
use crate::id::EventId;
use crate::text::{MessageId, Name};

/// An event with its place in the order of arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrivedEvent {
    pub(super) place: u64,
    pub(super) event: UnreadEvent,
}

/// All names of one execution.
#[derive(Debug, Default)]
pub(super) struct Externals {
    channels: SmallMap<Name, Channel>,
    next_place: u64,
}

#[derive(Debug, Default)]
struct Channel {
    unread: BTreeMap<u64, UnreadEvent>,
    /// In the order in which they asked.
    waiting: VecDeque<EventId>,
}

impl Externals {
    /// Gives a new event its place, last in the order of arrival.
    pub(super) fn arrive(&mut self, event: UnreadEvent) -> ArrivedEvent {
        let place = self.next_place;
        self.next_place += 1;
        ArrivedEvent { place, event }
    }

    /// Takes in an event: answers with the oldest subscription that waits for
    /// it, or keeps the event at its place.
    pub(super) fn offer(&mut self, arrival: ArrivedEvent) -> Option<(EventId, ArrivedEvent)> {
        let channel = self.channels.get_or_default(&arrival.event.name);
        if let Some(subscription) = channel.waiting.pop_front() {
            self.forget_if_empty(&arrival.event.name);
            return Some((subscription, arrival));
        }
        channel.unread.insert(arrival.place, arrival.event);
        None
    }

    /// Takes in a subscription: answers with the oldest unread event of that
    /// name, or lets the subscription wait.
    pub(super) fn subscribe(&mut self, name: &Name, subscription: EventId) -> Option<ArrivedEvent> {
        let channel = self.channels.get_or_default(name);
        if let Some((place, event)) = channel.unread.pop_first() {
            self.forget_if_empty(name);
            return Some(ArrivedEvent { place, event });
        }
        debug_assert!(!channel.waiting.contains(&subscription));
        channel.waiting.push_back(subscription);
        None
    }

    /// Forgets a subscription that waits.
    pub(super) fn unsubscribe(&mut self, name: &Name, subscription: EventId) {
        if let Some(channel) = self.channels.get_mut(name) {
            let mut waiting = channel.waiting.iter();
            if let Some(place) = waiting.position(|other| *other == subscription) {
                channel.waiting.remove(place);
            }
        }
        self.forget_if_empty(name);
    }

    /// How many events of this name were not read.
    pub(super) fn unread_of(&self, name: &Name) -> usize {
        let channel = self.channels.get(name);
        channel.map_or(0, |channel| channel.unread.len())
    }

    /// The events that were not read; together with `held`, in order of arrival.
    pub(super) fn unread<'a>(
        &'a self,
        held: impl Iterator<Item = &'a ArrivedEvent>,
    ) -> Vec<UnreadEvent> {
        let queued = self.channels.values().flat_map(|channel| &channel.unread);
        let by_place: BTreeMap<u64, &UnreadEvent> = queued
            .map(|(place, event)| (*place, event))
            .chain(held.map(|arrival| (arrival.place, &arrival.event)))
            .collect();
        by_place.into_values().cloned().collect()
    }

    fn forget_if_empty(&mut self, name: &Name) {
        if let Some(channel) = self.channels.get_mut(name) {
            debug_assert!(channel.unread.is_empty() || channel.waiting.is_empty());
            if channel.unread.is_empty() && channel.waiting.is_empty() {
                self.channels.remove(name);
            }
        }
    }
}

/// The ids of the latest external events, so that one that is sent again is
/// recognised. Bounded: the oldest is forgotten when a new one finds no room.
#[derive(Debug, Default)]
pub(super) struct RecentMessages {
    /// None before the first: most executions wait for something else.
    remembered: Option<Box<Remembered>>,
}

#[derive(Debug, Default)]
struct Remembered {
    in_order: VecDeque<MessageId>,
    known: BTreeSet<MessageId>,
}

impl RecentMessages {
    /// How many ids are remembered.
    pub(super) const CAPACITY: usize = 1024;

    /// Whether the id is among the latest.
    pub(super) fn contains(&self, id: &MessageId) -> bool {
        let mut remembered = self.remembered.iter();
        remembered.any(|remembered| remembered.known.contains(id))
    }

    /// Remembers an id.
    pub(super) fn remember(&mut self, id: MessageId) {
        let remembered = self.remembered.get_or_insert_default();
        if !remembered.known.insert(id.clone()) {
            return;
        }
        remembered.in_order.push_back(id);
        if remembered.in_order.len() > Self::CAPACITY
            && let Some(oldest) = remembered.in_order.pop_front()
        {
            remembered.known.remove(&oldest);
        }
    }

    /// The ids, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &MessageId> {
        let remembered = self.remembered.iter();
        remembered.flat_map(|remembered| &remembered.in_order)
    }
}
