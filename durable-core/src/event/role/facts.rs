//! Roles of numbers, times, options and other facts.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::{Role, equal};
use crate::event::compare::Position;
use crate::event::define::EventKind;
use crate::event::key::EventKey;
use crate::event::parts::{DetachedOptions, Parent};
use crate::id::{EventId, ExecutionId};
use crate::limits::{LimitError, Limits};
use crate::options::ActivityOptions;
use crate::payloads::{PayloadMut, VisitPayloads};
use crate::text::MessageId;
use crate::violation::Difference;

/// Which promise of the execution it is.
pub(in crate::event) struct PromiseNumber;

impl Role<u64> for PromiseNumber {
    fn compare(&self, _at: Position<'_>, code: &u64, recorded: &u64) -> Result<(), Difference> {
        equal(code == recorded, Difference::Number)
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a u64) {
        key.add_number(*value);
    }

    fn show_detail(&self, value: &u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " ({value})")
    }
}

/// When a timer is due. In replay the recorded time wins.
pub(in crate::event) struct DueTime;

impl Role<u64> for DueTime {
    #[inline]
    fn is_exact(&self, _at: Position<'_>, code: &u64, recorded: &u64) -> bool {
        code == recorded
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a u64) {
        if key.is_exact() {
            key.add_number(*value);
        }
    }

    fn show_detail(&self, value: &u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " due at {value} ms")
    }
}

/// The event that this one completes or cancels.
pub(in crate::event) struct Source(EventKind);

/// The scheduling event, which is of this kind.
pub(in crate::event) const fn source(kind: EventKind) -> Source {
    Source(kind)
}

impl Role<EventId> for Source {
    fn compare(
        &self,
        _at: Position<'_>,
        code: &EventId,
        recorded: &EventId,
    ) -> Result<(), Difference> {
        equal(code == recorded, Difference::Source)
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a EventId) {
        key.add_number(value.get());
    }

    fn source_kind(&self) -> Option<EventKind> {
        Some(self.0)
    }

    #[inline]
    fn source_event_id(&self, value: &EventId) -> Option<EventId> {
        Some(*value)
    }
}

/// How an activity is to be run. In replay the recorded options win.
pub(in crate::event) struct Options;

impl Role<ActivityOptions> for Options {
    fn check_limits(&self, limits: &Limits, value: &ActivityOptions) -> Result<(), LimitError> {
        let mut queue = value.queue.iter();
        queue.try_for_each(|queue| limits.check_name("queue", queue))
    }
}

/// Whether the code waits for the receipt of a message.
pub(in crate::event) struct AwaitsReceipt;

impl Role<bool> for AwaitsReceipt {
    fn compare(&self, _at: Position<'_>, code: &bool, recorded: &bool) -> Result<(), Difference> {
        equal(code == recorded, Difference::Receipt)
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a bool) {
        key.add_number(u64::from(*value));
    }

    fn show_detail(&self, value: &bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *value { " with a receipt" } else { "" })
    }
}

/// How an instance is started. In replay the recorded options win.
pub(in crate::event) struct StartedHow;

type StartOptions = Option<Box<DetachedOptions>>;

impl Role<StartOptions> for StartedHow {
    fn is_exact(&self, _at: Position<'_>, code: &StartOptions, recorded: &StartOptions) -> bool {
        code == recorded
    }

    fn check_limits(&self, limits: &Limits, value: &StartOptions) -> Result<(), LimitError> {
        for (name, data) in value.iter().flat_map(|options| &options.events) {
            limits.check_name("event", name)?;
            limits.check_payload("event data", data)?;
        }
        Ok(())
    }

    fn visit_payloads<'a>(&self, value: &'a mut StartOptions, payloads: &mut Vec<PayloadMut<'a>>) {
        for (_, data) in value.iter_mut().flat_map(|options| &mut options.events) {
            data.visit(payloads);
        }
    }
}

/// A fact that replay has no use for and that the store or the cursor made.
pub(in crate::event) struct Fact;

impl Role<u64> for Fact {}
impl Role<ExecutionId> for Fact {}
impl Role<MessageId> for Fact {}
impl Role<Option<Parent>> for Fact {}
