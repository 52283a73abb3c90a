//! Roles of the user's values: payloads, failures and reasons.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::{Role, equal};
use crate::attribute::AttributeValue;
use crate::event::compare::{Position, same_failure, same_json};
use crate::event::key::EventKey;
use crate::event::parts::Carried;
use crate::failure::Failure;
use crate::limits::{LimitError, Limits};
use crate::payloads::{PayloadMut, VisitPayloads};
use crate::text::Payload;
use crate::violation::Difference;

/// A value that must be the same in replay, as JSON.
pub(in crate::event) struct Compared {
    what: &'static str,
    difference: Difference,
}

/// What the code calls something with.
pub(in crate::event) const INPUT: Compared = Compared {
    what: "input",
    difference: Difference::Input,
};

/// What the code returned; `what` names it in a limit error.
pub(in crate::event) const fn returned(what: &'static str) -> Compared {
    Compared {
        what,
        difference: Difference::Ending,
    }
}

impl Role<Payload> for Compared {
    fn compare(
        &self,
        _at: Position<'_>,
        code: &Payload,
        recorded: &Payload,
    ) -> Result<(), Difference> {
        equal(same_json(code, recorded), self.difference)
    }

    #[inline]
    fn is_exact(&self, _at: Position<'_>, code: &Payload, recorded: &Payload) -> bool {
        code == recorded
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a Payload) {
        key.add_json(value);
    }

    fn check_limits(&self, limits: &Limits, value: &Payload) -> Result<(), LimitError> {
        limits.check_payload(self.what, value)
    }

    fn visit_payloads<'a>(&self, value: &'a mut Payload, payloads: &mut Vec<PayloadMut<'a>>) {
        value.visit(payloads);
    }
}

impl Role<Failure> for Compared {
    fn compare(
        &self,
        _at: Position<'_>,
        code: &Failure,
        recorded: &Failure,
    ) -> Result<(), Difference> {
        equal(same_failure(code, recorded), self.difference)
    }

    fn check_limits(&self, limits: &Limits, value: &Failure) -> Result<(), LimitError> {
        limits.check_failure(value)
    }

    fn visit_payloads<'a>(&self, value: &'a mut Failure, payloads: &mut Vec<PayloadMut<'a>>) {
        value.visit(payloads);
    }

    fn show_detail(&self, value: &Failure, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " ({})", value.kind)
    }
}

/// A value that only the history has, or that wins over the code's in replay.
pub(in crate::event) struct Recorded {
    what: &'static str,
}

/// A recorded value; `what` names it in a limit error.
pub(in crate::event) const fn recorded(what: &'static str) -> Recorded {
    Recorded { what }
}

/// Why something failed or ended.
pub(in crate::event) const FAILURE: Recorded = recorded("failure");

impl Role<Payload> for Recorded {
    fn is_exact(&self, _at: Position<'_>, code: &Payload, recorded: &Payload) -> bool {
        code == recorded
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a Payload) {
        if key.is_exact() {
            key.add_text(value);
        }
    }

    fn check_limits(&self, limits: &Limits, value: &Payload) -> Result<(), LimitError> {
        limits.check_payload(self.what, value)
    }

    fn visit_payloads<'a>(&self, value: &'a mut Payload, payloads: &mut Vec<PayloadMut<'a>>) {
        value.visit(payloads);
    }
}

impl Role<Failure> for Recorded {
    fn is_exact(&self, _at: Position<'_>, code: &Failure, recorded: &Failure) -> bool {
        code == recorded
    }

    fn check_limits(&self, limits: &Limits, value: &Failure) -> Result<(), LimitError> {
        limits.check_failure(value)
    }

    fn visit_payloads<'a>(&self, value: &'a mut Failure, payloads: &mut Vec<PayloadMut<'a>>) {
        value.visit(payloads);
    }

    fn show_detail(&self, value: &Failure, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " ({})", value.kind)
    }
}

impl Role<Result<Payload, Failure>> for Recorded {
    fn is_exact(
        &self,
        _at: Position<'_>,
        code: &Result<Payload, Failure>,
        recorded: &Result<Payload, Failure>,
    ) -> bool {
        code == recorded
    }

    fn add_to_key<'a>(
        &self,
        key: &mut EventKey<'a>,
        at: Position<'_>,
        value: &'a Result<Payload, Failure>,
    ) {
        match value {
            Ok(value) => self.add_to_key(key, at, value),
            Err(failure) => self.add_to_key(key, at, failure),
        }
    }

    fn check_limits(
        &self,
        limits: &Limits,
        value: &Result<Payload, Failure>,
    ) -> Result<(), LimitError> {
        match value {
            Ok(value) => self.check_limits(limits, value),
            Err(failure) => self.check_limits(limits, failure),
        }
    }

    fn visit_payloads<'a>(
        &self,
        value: &'a mut Result<Payload, Failure>,
        payloads: &mut Vec<PayloadMut<'a>>,
    ) {
        value.visit(payloads);
    }
}

/// The value of an attribute. In replay the recorded one wins. It is no payload: stores
/// compare it.
pub(in crate::event) struct RecordedAttribute;

/// See [`RecordedAttribute`].
pub(in crate::event) const ATTRIBUTE_VALUE: RecordedAttribute = RecordedAttribute;

impl Role<AttributeValue> for RecordedAttribute {
    fn is_exact(
        &self,
        _at: Position<'_>,
        code: &AttributeValue,
        recorded: &AttributeValue,
    ) -> bool {
        code == recorded
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a AttributeValue) {
        if !key.is_exact() {
            return;
        }
        key.add_number(u64::from(value.kind().number()));
        match value {
            AttributeValue::Text(text) => key.add_text(text),
            AttributeValue::Integer(number) | AttributeValue::Time(number) => {
                key.add_number(number.cast_unsigned());
            }
            AttributeValue::Bool(truth) => key.add_number(u64::from(*truth)),
        }
    }

    fn check_limits(&self, limits: &Limits, value: &AttributeValue) -> Result<(), LimitError> {
        limits.check_attribute_value(value)
    }
}

/// Why a client or the parent asked for something, for people.
pub(in crate::event) struct Reason;

impl Role<String> for Reason {
    fn check_limits(&self, limits: &Limits, value: &String) -> Result<(), LimitError> {
        limits.check_payload("reason", value)
    }

    fn visit_payloads<'a>(&self, value: &'a mut String, payloads: &mut Vec<PayloadMut<'a>>) {
        value.visit(payloads);
    }

    fn show_detail(&self, value: &String, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " ({value})")
    }
}

/// What the execution before left behind. It was measured when it came in.
pub(in crate::event) struct LeftBehind;

impl Role<Option<Box<Carried>>> for LeftBehind {
    fn visit_payloads<'a>(
        &self,
        value: &'a mut Option<Box<Carried>>,
        payloads: &mut Vec<PayloadMut<'a>>,
    ) {
        if let Some(carried) = value {
            carried.visit(payloads);
        }
    }
}
