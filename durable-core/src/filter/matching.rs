//! The one meaning of a filter.

use core::cmp::Ordering;

use super::{Field, Filter, Node, Test};
use crate::attribute::AttributeValue;
use crate::provider::InstanceRecord;

impl Filter {
    /// Whether an instance is meant.
    pub fn matches(&self, record: &InstanceRecord) -> bool {
        match &self.node {
            Node::All => true,
            Node::Nothing => false,
            Node::Status(statuses) => statuses.contains(record.status.kind()),
            Node::Test(field, test) => {
                let value = field.value(record);
                value.is_some_and(|value| test.passes(value))
            }
            Node::Not(part) => !part.matches(record),
            Node::And(parts) => parts.iter().all(|part| part.matches(record)),
            Node::Or(parts) => parts.iter().any(|part| part.matches(record)),
        }
    }
}

/// A value of a record, borrowed.
#[derive(Debug, Clone, Copy)]
enum Value<'a> {
    Text(&'a str),
    Integer(i64),
    Time(i64),
    Bool(bool),
}

impl Value<'_> {
    /// The order of values of one type; those of different types have none.
    fn compare(self, other: &AttributeValue) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(one), AttributeValue::Text(other)) => Some(one.cmp(other.as_str())),
            (Self::Integer(one), AttributeValue::Integer(other))
            | (Self::Time(one), AttributeValue::Time(other)) => Some(one.cmp(other)),
            (Self::Bool(one), AttributeValue::Bool(other)) => Some(one.cmp(other)),
            (
                Self::Text(_) | Self::Integer(_) | Self::Time(_) | Self::Bool(_),
                AttributeValue::Text(_)
                | AttributeValue::Integer(_)
                | AttributeValue::Time(_)
                | AttributeValue::Bool(_),
            ) => None,
        }
    }
}

impl Field {
    fn value<'a>(&self, record: &'a InstanceRecord) -> Option<Value<'a>> {
        match self {
            Self::Id => Some(Value::Text(&record.instance)),
            Self::Name => Some(Value::Text(&record.name)),
            Self::Version => record.version.as_deref().map(Value::Text),
            Self::Parent => {
                let parent = record.parent.as_ref();
                parent.map(|parent| Value::Text(&parent.instance))
            }
            Self::Created => Some(time(record.created_at_ms)),
            Self::Changed => Some(time(record.updated_at_ms)),
            Self::Attribute(name) => record.attributes.get(name).map(|value| match value {
                AttributeValue::Text(text) => Value::Text(text),
                AttributeValue::Integer(number) => Value::Integer(*number),
                AttributeValue::Time(time_ms) => Value::Time(*time_ms),
                AttributeValue::Bool(truth) => Value::Bool(*truth),
            }),
        }
    }
}

fn time<'a>(time_ms: u64) -> Value<'a> {
    Value::Time(i64::try_from(time_ms).unwrap_or(i64::MAX))
}

impl Test {
    fn passes(&self, value: Value<'_>) -> bool {
        let compares = |other: &AttributeValue, accepts: fn(Ordering) -> bool| {
            value.compare(other).is_some_and(accepts)
        };
        match self {
            Self::In(values) => values.iter().any(|one| compares(one, Ordering::is_eq)),
            Self::Less(limit) => compares(limit, Ordering::is_lt),
            Self::AtMost(limit) => compares(limit, Ordering::is_le),
            Self::Greater(limit) => compares(limit, Ordering::is_gt),
            Self::AtLeast(limit) => compares(limit, Ordering::is_ge),
            Self::Between(from, to) => {
                compares(from, Ordering::is_ge) && compares(to, Ordering::is_le)
            }
            Self::StartsWith(prefix) => {
                matches!(value, Value::Text(text) if text.starts_with(prefix.as_str()))
            }
            Self::Exists => true,
        }
    }
}
