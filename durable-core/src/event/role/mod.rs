//! What the fields of events are.
//!
//! The table of events gives every field a role. The role decides how replay compares
//! the field, what it adds to the key of its event, how it is measured, coded and shown;
//! [`Event`](super::Event) asks the role of each field, in the order of the table. So a
//! new kind of event is compared, measured, coded and shown as its row says, and no
//! list elsewhere can forget it.

mod facts;
mod names;
mod values;

use alloc::vec::Vec;
use core::fmt;

use super::compare::Position;
use super::define::EventKind;
use super::key::EventKey;
use crate::id::EventId;
use crate::limits::{LimitError, Limits};
use crate::payloads::PayloadMut;
use crate::violation::Difference;

pub(super) use facts::{AwaitsReceipt, DueTime, Fact, Options, PromiseNumber, StartedHow, source};
pub(super) use names::{
    ATTRIBUTE, NEXT_VERSION, PATCH, STATE_KEY, StartedInstance, Target, VERSION, name,
};
pub(super) use values::{ATTRIBUTE_VALUE, FAILURE, INPUT, LeftBehind, Reason, recorded, returned};

/// What a field of type `T` is. A method that a role does not define finds nothing to
/// compare, to measure, to code or to show.
pub(super) trait Role<T> {
    /// Compares what the code did with what is recorded at this position.
    fn compare(&self, _at: Position<'_>, _code: &T, _recorded: &T) -> Result<(), Difference> {
        Ok(())
    }

    /// Whether the two are alike also in what replay does not compare.
    fn is_exact(&self, at: Position<'_>, code: &T, recorded: &T) -> bool {
        self.compare(at, code, recorded).is_ok()
    }

    /// Adds what tells the event at this position apart from others of its kind.
    fn add_to_key<'a>(&self, _key: &mut EventKey<'a>, _at: Position<'_>, _value: &'a T) {}

    /// Measures the names and payloads in the field.
    fn check_limits(&self, _limits: &Limits, _value: &T) -> Result<(), LimitError> {
        Ok(())
    }

    /// Adds the payloads, which a payload codec changes.
    fn visit_payloads<'a>(&self, _value: &'a mut T, _payloads: &mut Vec<PayloadMut<'a>>) {}

    /// The event gets this position: fills in what follows from it.
    fn assign(&self, _at: Position<'_>, _value: &mut T) {}

    /// The event loses this position, and with it what follows from it.
    fn unassign(&self, _at: Position<'_>, _value: &mut T) {}

    /// The kind of the event that the field names.
    fn source_kind(&self) -> Option<EventKind> {
        None
    }

    /// The event that the field names.
    fn source_event_id(&self, _value: &T) -> Option<EventId> {
        None
    }

    /// Shows what the event is called.
    fn show_name(&self, _value: &T, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    /// Shows what else is said of the event. Payloads stay out.
    fn show_detail(&self, _value: &T, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

fn equal(same: bool, difference: Difference) -> Result<(), Difference> {
    if same { Ok(()) } else { Err(difference) }
}
