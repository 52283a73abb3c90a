//! Readers: one subscription, and every external event of its name is an item of it.
//!
//! A reader is in the queue for the next event while its future asks for one, and not
//! before: it takes one event at a time, so what comes meanwhile is unread and goes to
//! whatever asks first. It stays open until it is closed or cancelled.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::external::ArrivedEvent;
use super::operation::{OpKey, Operation, OperationKind, Operations, Outcome, Phase};
use super::{Cursor, OpPoll};
use crate::failure::Failure;
use crate::id::EventId;
use crate::text::{Name, Payload};

/// A subscription to all events of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reader {
    name: Name,
    /// The event that arrived for it and was not taken.
    held: Option<ArrivedEvent>,
    /// Whether it was cancelled while it held an event: it ends after that.
    is_closing: bool,
}

impl Reader {
    pub(super) const fn new(name: Name) -> Self {
        Self {
            name,
            held: None,
            is_closing: false,
        }
    }

    pub(super) const fn name(&self) -> &Name {
        &self.name
    }

    pub(super) const fn held(&self) -> Option<&ArrivedEvent> {
        self.held.as_ref()
    }

    pub(super) fn into_held(self) -> Option<ArrivedEvent> {
        self.held
    }

    pub(super) fn hold(&mut self, event: ArrivedEvent) {
        self.held = Some(event);
    }
}

impl Cursor {
    /// Readers that asked for their next event in this poll join the queue of their name,
    /// in the order of their own events, which is the same in every replay.
    pub(super) fn queue_readers(&mut self) {
        let asking = self.block.take_asking();
        let mut readers: Vec<(EventId, Name)> = asking
            .into_iter()
            .filter_map(|key| self.operations.get(key)?.open_reader())
            .collect();
        readers.sort_by_key(|(event_id, _)| *event_id);
        for (event_id, name) in readers {
            self.subscribed(&name, event_id);
        }
    }

    /// A reader that was granted is polled: it gives its event and stays, or it ends.
    pub(super) fn take_item(&mut self, key: OpKey) -> OpPoll {
        let Some((item, is_closing)) = self.operations.take_item(key) else {
            return self.take(key);
        };
        self.granted = None;
        if is_closing {
            let reason = self.cancel_reason.as_deref().unwrap_or_default();
            let failure = Box::new(Failure::cancelled(reason));
            self.operations.arrived(key, Outcome::Failed(failure));
        }
        OpPoll::Item(item)
    }
}

impl Operation {
    /// Its event and its name, if it is a reader that waits.
    fn open_reader(&self) -> Option<(EventId, Name)> {
        match (self.phase, &self.kind) {
            (Phase::Open { event_id }, OperationKind::Reader(reader)) => {
                Some((event_id, reader.name.clone()))
            }
            _ => None,
        }
    }
}

impl Operations {
    /// The event that a reader holds, and whether it ends after it. It no longer asks.
    fn take_item(&mut self, key: OpKey) -> Option<(Payload, bool)> {
        let operation = self.get_mut(key)?;
        let OperationKind::Reader(reader) = &mut operation.kind else {
            return None;
        };
        let item = reader.held.take()?.event.data;
        let is_closing = reader.is_closing;
        self.goes_on(key);
        Some((item, is_closing))
    }

    /// Has the readers end that hold an event: after they gave it.
    pub(super) fn close_readers(&mut self) {
        for operation in self.iter_mut() {
            if let OperationKind::Reader(reader) = &mut operation.kind {
                reader.is_closing = reader.held.is_some();
            }
        }
    }
}
