//! State, views and attributes: what the code sets takes effect at once, and in replay with the
//! value that was recorded.
//!
//! Code that reads what it has just set must see the same in every run. The value itself is
//! not compared, so a replay may have another one; from the call on the recorded one counts.

use alloc::vec::Vec;

use super::Cursor;
use super::block::Output;
use crate::event::Event;

impl Cursor {
    /// State, a view or an attribute is as this event says.
    pub(super) fn set_value(&mut self, event: &Event) {
        match event {
            Event::StateSet { key, value, .. } => {
                self.state.insert(key.clone(), value.clone());
            }
            Event::StateCleared { key, .. } => {
                self.state.remove(key);
            }
            Event::ViewPublished { name, value, .. } => {
                self.views.publish(name, value);
            }
            Event::ViewCleared { name, .. } => {
                self.views.clear(name);
            }
            Event::AttributeSet { name, value, .. } => {
                self.attributes.set(name.clone(), value.clone());
            }
            Event::AttributeCleared { name, .. } => {
                self.attributes.clear(name);
            }
            other => debug_assert!(false, "{:?} sets nothing", other.kind()),
        }
    }

    /// Puts the recorded value in the place of the one that the latest command of this poll
    /// set, if it was another.
    pub(super) fn set_recorded_value(&mut self) {
        let (found, commands) = self.block.not_found();
        let Some((latest, earlier)) = commands.split_last() else {
            return;
        };
        if let Some(recorded) = self
            .recorded_instead(found, earlier, &latest.event)
            .cloned()
        {
            self.set_value(&recorded);
        }
    }

    /// The recorded output that stands for a command although it is not exactly that. Of
    /// several that may, each command of the poll has one: the one that it is exactly, or
    /// the first that is free.
    fn recorded_instead(&self, found: usize, earlier: &[Output], latest: &Event) -> Option<&Event> {
        let owner = self.owner();
        let outputs = self.tape.outputs().skip(found);
        let mut free: Vec<&Event> = outputs
            .filter(|recorded| latest.compare(owner, recorded).is_ok())
            .collect();
        let exact = |free: &[&Event], command: &Event| {
            free.iter()
                .position(|recorded| command.is_exact(owner, recorded))
        };
        for Output { event, .. } in earlier {
            if free
                .first()
                .is_some_and(|first| event.compare(owner, first).is_ok())
            {
                free.remove(exact(&free, event).unwrap_or(0));
            }
        }
        match exact(&free, latest) {
            Some(_) => None,
            None => free.first().copied(),
        }
    }
}
