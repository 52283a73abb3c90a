//! Looks: the code takes what is there, or learns that nothing is.
//!
//! A look is answered at the end of its poll, by what is unread then. Those who wait go
//! first: an event that a subscription of the same poll will take is not there. So the
//! answers follow from what the poll did, in whatever order, and a look in vain leaves no
//! trace in the history.

use alloc::boxed::Box;

use super::Cursor;
use super::block::Output;
use super::operation::{OpKey, OperationKind, Outcome, Phase};
use crate::event::Event;
use crate::id::EventId;
use crate::text::Name;

impl Cursor {
    /// The code looks for an external event of this name.
    pub(super) fn look_for(&mut self, name: Name) -> OpKey {
        let kind = OperationKind::External(Box::new(name.clone()));
        let key = self.operations.insert(kind, Phase::Called);
        self.block.look(name, key);
        key
    }

    /// Answers the looks of a poll. They are concurrent, so they stand in the order of
    /// their names; of one name the first ones take what is there. To take is to subscribe.
    pub(super) fn answer_looks(&mut self) {
        let mut looks = self.block.take_looks();
        looks.retain(|(_, key)| self.operations.get(*key).is_some());
        looks.sort_by(|a, b| a.0.cmp(&b.0));
        for looks in looks.chunk_by(|a, b| a.0 == b.0) {
            let there = looks.first().map_or(0, |(name, _)| self.left_unread(name));
            let (taking, in_vain) = looks.split_at(there.min(looks.len()));
            for (_, key) in in_vain {
                self.operations.arrived(*key, Outcome::Nothing);
            }
            for (name, key) in taking {
                let block_index = self.block.next_index();
                self.operations.emitted(*key, block_index);
                let event = Event::ExternalSubscribed {
                    event_id: EventId::UNASSIGNED,
                    name: name.clone(),
                };
                self.push(Output::new(event, Some(*key)));
            }
        }
    }

    /// How many events of this name the subscriptions of this poll leave unread.
    fn left_unread(&self, wanted: &Name) -> usize {
        let (found, _) = self.block.not_found();
        let emitted = self.tape.outputs().take(found).chain(self.block.commands());
        let subscriptions = emitted.filter(|event| {
            matches!(
                event,
                Event::ExternalSubscribed { name, .. }
                | Event::ExternalEventsSubscribed { name, .. } if name == wanted
            )
        });
        let unread = self.externals.unread_of(wanted);
        unread.saturating_sub(subscriptions.count())
    }
}
