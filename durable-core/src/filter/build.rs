//! Building filters by calls.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Not;

use super::{Field, Filter, Node, StatusSet, Test};
use crate::attribute::AttributeValue;
use crate::provider::StatusKind;
use crate::text::Name;

impl Filter {
    /// Every instance.
    pub const fn all() -> Self {
        Self::leaf(Node::All, 0)
    }

    /// No instance.
    pub const fn nothing() -> Self {
        Self::leaf(Node::Nothing, 0)
    }

    const fn leaf(node: Node, values: usize) -> Self {
        Self {
            node,
            depth: 1,
            values,
        }
    }

    /// Instances with this status.
    pub fn status(status: StatusKind) -> Self {
        Self::status_in([status])
    }

    /// Instances with one of these statuses.
    pub fn status_in(statuses: impl IntoIterator<Item = StatusKind>) -> Self {
        let statuses: StatusSet = statuses.into_iter().collect();
        match statuses.is_empty() {
            true => Self::nothing(),
            false => Self::leaf(Node::Status(statuses), 1),
        }
    }

    /// Instances that have ended: completed, failed or terminated.
    pub fn ended() -> Self {
        Self::status_in(StatusKind::ALL.into_iter().filter(|kind| kind.is_ended()))
    }

    /// Instances of this orchestration.
    pub fn name(name: impl Into<Name>) -> Self {
        Field::Name.is(name.into().as_str())
    }

    /// Instances whose id begins with this.
    pub fn id_starts_with(prefix: impl Into<String>) -> Self {
        Field::Id.starts_with(prefix)
    }

    /// Instances that last changed before this time, in milliseconds since the Unix epoch.
    pub fn changed_before_ms(time_ms: u64) -> Self {
        Field::Changed.less_than(time(time_ms))
    }

    /// Instances that last changed at this time or later.
    pub fn changed_since_ms(time_ms: u64) -> Self {
        Field::Changed.at_least(time(time_ms))
    }

    /// Instances that were created before this time, in milliseconds since the Unix epoch.
    pub fn created_before_ms(time_ms: u64) -> Self {
        Field::Created.less_than(time(time_ms))
    }

    /// Instances that were created at this time or later.
    pub fn created_since_ms(time_ms: u64) -> Self {
        Field::Created.at_least(time(time_ms))
    }

    /// Instances of which this attribute has this value.
    pub fn attribute(name: impl Into<Name>, value: impl Into<AttributeValue>) -> Self {
        Field::attribute(name).is(value)
    }

    /// Instances of which this field passes this test.
    pub fn test(field: Field, test: Test) -> Self {
        if matches!(&test, Test::In(values) if values.is_empty()) {
            return Self::nothing();
        }
        let values = test.weight();
        Self::leaf(Node::Test(field, test), values)
    }

    /// Instances that are meant by both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (&self.node, &other.node) {
            (Node::All, _) | (_, Node::Nothing) => return other,
            (_, Node::All) | (Node::Nothing, _) => return self,
            _ => {}
        }
        let parts = |filter: Self| match filter.node {
            Node::And(parts) => parts,
            _ => vec![filter],
        };
        Self::joined(Node::And, parts(self), parts(other))
    }

    /// Instances that are meant by one of the two.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (&self.node, &other.node) {
            (Node::Nothing, _) | (_, Node::All) => return other,
            (_, Node::Nothing) | (Node::All, _) => return self,
            _ => {}
        }
        let parts = |filter: Self| match filter.node {
            Node::Or(parts) => parts,
            _ => vec![filter],
        };
        Self::joined(Node::Or, parts(self), parts(other))
    }

    fn joined(join: fn(Vec<Self>) -> Node, mut parts: Vec<Self>, more: Vec<Self>) -> Self {
        parts.extend(more);
        let deepest = parts.iter().map(|part| part.depth).max().unwrap_or(0);
        let values = parts.iter().map(|part| part.values).sum();
        Self {
            node: join(parts),
            depth: deepest.saturating_add(1),
            values,
        }
    }
}

impl Default for Filter {
    /// Every instance.
    fn default() -> Self {
        Self::all()
    }
}

impl Not for Filter {
    type Output = Self;

    /// The instances that are not meant.
    fn not(self) -> Self {
        let (depth, values) = (self.depth.saturating_add(1), self.values);
        match self.node {
            Node::All => Self::nothing(),
            Node::Nothing => Self::all(),
            Node::Not(part) => *part,
            _ => Self {
                node: Node::Not(Box::new(self)),
                depth,
                values,
            },
        }
    }
}

/// Tests of a field.
impl Field {
    /// It is this value.
    pub fn is(self, value: impl Into<AttributeValue>) -> Filter {
        Filter::test(self, Test::In(vec![value.into()]))
    }

    /// It is one of these values.
    pub fn is_in<V: Into<AttributeValue>>(self, values: impl IntoIterator<Item = V>) -> Filter {
        let values = values.into_iter().map(Into::into).collect();
        Filter::test(self, Test::In(values))
    }

    /// It is less than this.
    pub fn less_than(self, value: impl Into<AttributeValue>) -> Filter {
        Filter::test(self, Test::Less(value.into()))
    }

    /// It is at most this.
    pub fn at_most(self, value: impl Into<AttributeValue>) -> Filter {
        Filter::test(self, Test::AtMost(value.into()))
    }

    /// It is greater than this.
    pub fn greater_than(self, value: impl Into<AttributeValue>) -> Filter {
        Filter::test(self, Test::Greater(value.into()))
    }

    /// It is at least this.
    pub fn at_least(self, value: impl Into<AttributeValue>) -> Filter {
        Filter::test(self, Test::AtLeast(value.into()))
    }

    /// It is at least the first and at most the second.
    pub fn between(self, from: impl Into<AttributeValue>, to: impl Into<AttributeValue>) -> Filter {
        Filter::test(self, Test::Between(from.into(), to.into()))
    }

    /// It is a text that begins with this.
    pub fn starts_with(self, prefix: impl Into<String>) -> Filter {
        Filter::test(self, Test::StartsWith(prefix.into()))
    }

    /// The instance has it.
    pub fn exists(self) -> Filter {
        Filter::test(self, Test::Exists)
    }
}

fn time(time_ms: u64) -> AttributeValue {
    AttributeValue::Time(i64::try_from(time_ms).unwrap_or(i64::MAX))
}
