//! A filter as an SQL condition, with the meaning of [`Filter::matches`].
//!
//! Fragments name the row of `instance` as `i` and that of `record` as `r`. A condition is
//! never NULL, so that `NOT` means what it does in a filter.

use std::fmt::Write as _;

use durable_core::filter::{Field, Filter, Node, StatusSet, Test};
use durable_core::{AttributeKind, AttributeValue};
use rusqlite::types::Value;

use super::names::AttributeNumbers;
use crate::codec::status_number;
use crate::store::value_of;

/// What a statement is bound to. Fragments name their values by number, so they can be put
/// together in any order.
#[derive(Debug, Default)]
pub(super) struct Bindings(Vec<Value>);

impl Bindings {
    /// Adds a value; answers with its name.
    pub(super) fn bind(&mut self, value: impl Into<Value>) -> String {
        self.0.push(value.into());
        format!("?{}", self.0.len())
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.0.iter()
    }
}

/// The tables that a condition looks at, besides that of attributes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tables {
    pub(super) instance: bool,
    pub(super) record: bool,
}

impl Tables {
    pub(super) fn of(filter: &Filter) -> Self {
        let none = Self::default();
        match filter.node() {
            Node::Status(_) => none.with_instance(),
            Node::Test(field, _) => match field {
                Field::Changed => none.with_instance(),
                Field::Id | Field::Name | Field::Version | Field::Parent | Field::Created => {
                    none.with_record()
                }
                Field::Attribute(_) => none,
            },
            Node::Not(part) => Self::of(part),
            Node::And(parts) | Node::Or(parts) => {
                parts.iter().map(Self::of).fold(none, |one, other| Self {
                    instance: one.instance || other.instance,
                    record: one.record || other.record,
                })
            }
            Node::All | Node::Nothing => none,
        }
    }

    pub(super) const fn with_instance(mut self) -> Self {
        self.instance = true;
        self
    }

    pub(super) const fn with_record(mut self) -> Self {
        self.record = true;
        self
    }
}

/// Writes conditions for one statement.
pub(super) struct ConditionWriter<'a> {
    pub(super) numbers: &'a AttributeNumbers,
    pub(super) bindings: &'a mut Bindings,
    /// The key of the instance, as the statement names it.
    pub(super) key: &'a str,
}

impl ConditionWriter<'_> {
    pub(super) fn condition(&mut self, filter: &Filter) -> String {
        match filter.node() {
            Node::All => "1".into(),
            Node::Status(statuses) => {
                format!("i.status_kind IN ({})", status_numbers(*statuses))
            }
            Node::Test(field, test) => self.test(field, test),
            Node::Not(part) => format!("NOT {}", self.condition(part)),
            Node::And(parts) => self.joined(parts, " AND "),
            Node::Or(parts) => self.joined(parts, " OR "),
            Node::Nothing => "0".into(),
        }
    }

    fn joined(&mut self, parts: &[Filter], joint: &str) -> String {
        let parts: Vec<String> = parts.iter().map(|part| self.condition(part)).collect();
        format!("({})", parts.join(joint))
    }

    fn test(&mut self, field: &Field, test: &Test) -> String {
        let column = match field {
            Field::Id => "r.id",
            Field::Name => "r.name",
            Field::Version => "r.version",
            Field::Parent => "r.parent_instance",
            Field::Created => "r.created_at_ms",
            Field::Changed => "i.updated_at_ms",
            Field::Attribute(name) => return self.attribute_test(name, test),
        };
        let test = self.column_test(column, test);
        format!("ifnull({test}, 0)")
    }

    /// A test of a column; NULL if the column is. Values are of the column's type.
    fn column_test(&mut self, column: &str, test: &Test) -> String {
        let mut compared = |operator: &str, value: &AttributeValue| {
            let value = self.bindings.bind(value_of(value));
            format!("{column} {operator} {value}")
        };
        match test {
            Test::In(values) => {
                let values = values
                    .iter()
                    .map(|value| self.bindings.bind(value_of(value)));
                let values: Vec<String> = values.collect();
                format!("{column} IN ({})", values.join(", "))
            }
            Test::Less(value) => compared("<", value),
            Test::AtMost(value) => compared("<=", value),
            Test::Greater(value) => compared(">", value),
            Test::AtLeast(value) => compared(">=", value),
            Test::Between(from, to) => {
                let from = compared(">=", from);
                format!("({from} AND {})", compared("<=", to))
            }
            // Every text begins with the empty one; `substr` of an empty text is NULL.
            Test::StartsWith(prefix) if prefix.is_empty() => format!("{column} IS NOT NULL"),
            Test::StartsWith(prefix) => {
                let length = self.bindings.bind(Value::Integer(prefix.len() as i64));
                let prefix = self.bindings.bind(Value::Blob(prefix.as_bytes().to_vec()));
                format!("substr(CAST({column} AS BLOB), 1, {length}) = {prefix}")
            }
            Test::Exists => format!("{column} IS NOT NULL"),
        }
    }

    /// Values of different types have different numbers, so each type is tested by itself.
    fn attribute_test(&mut self, name: &str, test: &Test) -> String {
        let mut tests = Vec::new();
        for (kind, test) in by_kind(test) {
            let Some(number) = self.numbers.number(name, kind) else {
                continue;
            };
            // A value is found by name, value and instance; all else by the instance.
            let is_value = matches!(test, Test::In(_));
            let index = if is_value {
                ""
            } else {
                " INDEXED BY attribute_instance"
            };
            let number = self.bindings.bind(Value::Integer(number));
            let key = self.key;
            let test = self.column_test("a.value", &test);
            tests.push(format!(
                "EXISTS (SELECT 1 FROM attribute AS a{index} WHERE a.name = {number} AND a.instance_key = {key} AND {test})"
            ));
        }
        match tests.is_empty() {
            true => "0".into(),
            false => format!("({})", tests.join(" OR ")),
        }
    }
}

/// A test, split by the types of the values that can pass it.
pub(super) fn by_kind(test: &Test) -> Vec<(AttributeKind, Test)> {
    match test {
        Test::In(values) => AttributeKind::ALL
            .into_iter()
            .map(|kind| {
                let of_kind = values.iter().filter(|value| value.kind() == kind);
                (kind, Test::In(of_kind.cloned().collect()))
            })
            .filter(|(_, test)| test.values().next().is_some())
            .collect(),
        Test::Between(from, to) if from.kind() != to.kind() => Vec::new(),
        Test::StartsWith(_) => vec![(AttributeKind::Text, test.clone())],
        Test::Exists => AttributeKind::ALL.map(|kind| (kind, Test::Exists)).to_vec(),
        Test::Less(_)
        | Test::AtMost(_)
        | Test::Greater(_)
        | Test::AtLeast(_)
        | Test::Between(..) => {
            let kind = test.values().next().map(AttributeValue::kind);
            kind.map(|kind| (kind, test.clone())).into_iter().collect()
        }
    }
}

/// The numbers of these statuses, for a list.
pub(super) fn status_numbers(statuses: StatusSet) -> String {
    let mut list = String::new();
    for status in statuses.iter() {
        let comma = if list.is_empty() { "" } else { ", " };
        let _ = write!(list, "{comma}{}", status_number(status));
    }
    list
}
