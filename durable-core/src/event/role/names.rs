//! Roles of names, ids and versions.

use core::fmt;

use super::{Role, equal};
use crate::command::{derived_instance, is_to_be_derived, to_be_derived};
use crate::event::compare::{Position, is_derived, same_instance};
use crate::event::key::EventKey;
use crate::id::PromiseToken;
use crate::limits::{LimitError, Limits};
use crate::text::{InstanceId, MessageId, Name, Version};
use crate::violation::Difference;

/// A name that must be the same in replay.
pub(in crate::event) struct Named {
    what: &'static str,
    difference: Difference,
}

/// The name of an activity, an orchestration, an event and so on; `what` says which.
pub(in crate::event) const fn name(what: &'static str) -> Named {
    Named {
        what,
        difference: Difference::Name,
    }
}

/// A state key.
pub(in crate::event) const STATE_KEY: Named = Named {
    what: "state key",
    difference: Difference::Key,
};

/// The id of a patch.
pub(in crate::event) const PATCH: Named = Named {
    what: "patch",
    difference: Difference::Patch,
};

impl Role<Name> for Named {
    #[inline]
    fn compare(&self, _at: Position<'_>, code: &Name, recorded: &Name) -> Result<(), Difference> {
        equal(code == recorded, self.difference)
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a Name) {
        key.add_text(value);
    }

    fn check_limits(&self, limits: &Limits, value: &Name) -> Result<(), LimitError> {
        limits.check_name(self.what, value)
    }

    fn show_name(&self, value: &Name, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " `{value}`")
    }
}

/// The name of an attribute.
pub(in crate::event) struct AttributeNamed;

/// The name of an attribute: a filter must be able to name it, too.
pub(in crate::event) const ATTRIBUTE: AttributeNamed = AttributeNamed;

impl Role<Name> for AttributeNamed {
    fn compare(&self, _at: Position<'_>, code: &Name, recorded: &Name) -> Result<(), Difference> {
        equal(code == recorded, Difference::Name)
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a Name) {
        key.add_text(value);
    }

    fn check_limits(&self, limits: &Limits, value: &Name) -> Result<(), LimitError> {
        limits.check_attribute_name(value)
    }

    fn show_name(&self, value: &Name, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " `{value}`")
    }
}

/// The id of a request that is answered.
pub(in crate::event) struct AnsweredRequest;

/// See [`AnsweredRequest`].
pub(in crate::event) const REQUEST: AnsweredRequest = AnsweredRequest;

impl Role<MessageId> for AnsweredRequest {
    fn compare(
        &self,
        _at: Position<'_>,
        code: &MessageId,
        recorded: &MessageId,
    ) -> Result<(), Difference> {
        equal(code == recorded, Difference::Source)
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a MessageId) {
        key.add_text(value);
    }

    fn check_limits(&self, limits: &Limits, value: &MessageId) -> Result<(), LimitError> {
        limits.check_name("message", value)
    }

    fn show_name(&self, value: &MessageId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " `{value}`")
    }
}

/// A version.
pub(in crate::event) struct Versioned {
    compared: Option<Difference>,
}

/// A version that replay does not compare: of the start, or asked for.
pub(in crate::event) const VERSION: Versioned = Versioned { compared: None };

/// The version that the code asked for when it returned.
pub(in crate::event) const NEXT_VERSION: Versioned = Versioned {
    compared: Some(Difference::Ending),
};

impl Role<Version> for Versioned {
    fn check_limits(&self, limits: &Limits, value: &Version) -> Result<(), LimitError> {
        limits.check_name("version", value)
    }

    fn show_detail(&self, value: &Version, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {value}")
    }
}

impl Role<Option<Version>> for Versioned {
    fn compare(
        &self,
        _at: Position<'_>,
        code: &Option<Version>,
        recorded: &Option<Version>,
    ) -> Result<(), Difference> {
        match self.compared {
            Some(difference) => equal(code == recorded, difference),
            None => Ok(()),
        }
    }

    fn check_limits(&self, limits: &Limits, value: &Option<Version>) -> Result<(), LimitError> {
        let mut asked_for = value.iter();
        asked_for.try_for_each(|version| Role::check_limits(self, limits, version))
    }

    fn show_detail(&self, value: &Option<Version>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut asked_for = value.iter();
        asked_for.try_for_each(|version| self.show_detail(version, f))
    }
}

/// The id of an instance that the event starts; empty until it is derived.
pub(in crate::event) struct StartedInstance;

impl Role<InstanceId> for StartedInstance {
    fn compare(
        &self,
        at: Position<'_>,
        code: &InstanceId,
        recorded: &InstanceId,
    ) -> Result<(), Difference> {
        equal(same_instance(at, code, recorded), Difference::Instance)
    }

    /// A derived id counts as none, as in an output that has no position yet.
    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, at: Position<'_>, value: &'a InstanceId) {
        key.add_text(if is_derived(at, value) { "" } else { value });
    }

    fn check_limits(&self, limits: &Limits, value: &InstanceId) -> Result<(), LimitError> {
        limits.check_name("instance", value)
    }

    fn assign(&self, at: Position<'_>, value: &mut InstanceId) {
        if is_to_be_derived(value) {
            *value = derived_instance(at.owner.instance, at.owner.execution_id, at.event_id);
        }
    }

    fn unassign(&self, at: Position<'_>, value: &mut InstanceId) {
        if is_derived(at, value) {
            *value = to_be_derived();
        }
    }

    fn show_detail(&self, value: &InstanceId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_to_be_derived(value) {
            return Ok(());
        }
        write!(f, " as `{value}`")
    }
}

/// The receiver of a message: an instance, or a promise of one.
pub(in crate::event) struct Target;

impl Role<InstanceId> for Target {
    fn compare(
        &self,
        _at: Position<'_>,
        code: &InstanceId,
        recorded: &InstanceId,
    ) -> Result<(), Difference> {
        equal(code == recorded, Difference::Target)
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a InstanceId) {
        key.add_text(value);
    }

    fn check_limits(&self, limits: &Limits, value: &InstanceId) -> Result<(), LimitError> {
        limits.check_name("instance", value)
    }

    fn show_detail(&self, value: &InstanceId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " to `{value}`")
    }
}

impl Role<PromiseToken> for Target {
    fn compare(
        &self,
        _at: Position<'_>,
        code: &PromiseToken,
        recorded: &PromiseToken,
    ) -> Result<(), Difference> {
        equal(code == recorded, Difference::Target)
    }

    fn add_to_key<'a>(&self, key: &mut EventKey<'a>, _at: Position<'_>, value: &'a PromiseToken) {
        key.add_text(&value.instance);
        key.add_number(value.execution_id.get());
        key.add_number(value.number);
    }

    fn check_limits(&self, limits: &Limits, value: &PromiseToken) -> Result<(), LimitError> {
        limits.check_name("instance", &value.instance)
    }

    fn show_detail(&self, value: &PromiseToken, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " to `{value}`")
    }
}
