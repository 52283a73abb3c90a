//! Where candidates come from: ranges of indexes.

use durable_core::AttributeValue;
use durable_core::filter::{Direction, Field, OrderBy, PagePosition, Test, TimeRange};
use durable_core::provider::StatusKind;
use rusqlite::types::Value;

use super::condition::{Bindings, Tables, by_kind};
use super::names::AttributeNumbers;
use crate::codec::status_number;
use crate::number::int;
use crate::store::value_of;

/// A range of values, each with whether it is in the range itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ValueRange {
    from: Option<(Value, bool)>,
    to: Option<(Value, bool)>,
}

impl ValueRange {
    fn only(value: &AttributeValue) -> Self {
        let end = || Some((value_of(value), true));
        Self {
            from: end(),
            to: end(),
        }
    }

    /// The ranges of the values that can pass a test.
    fn of(test: &Test) -> Vec<Self> {
        let from = |value: &AttributeValue, is_in| Some((value_of(value), is_in));
        let range = |from, to| vec![Self { from, to }];
        match test {
            Test::In(values) => values.iter().map(Self::only).collect(),
            Test::Less(value) => range(None, from(value, false)),
            Test::AtMost(value) => range(None, from(value, true)),
            Test::Greater(value) => range(from(value, false), None),
            Test::AtLeast(value) => range(from(value, true), None),
            Test::Between(first, last) => range(from(first, true), from(last, true)),
            Test::StartsWith(prefix) => {
                let end = after_prefix(prefix).map(|end| (Value::Text(end), false));
                range(Some((Value::Text(prefix.clone()), true)), end)
            }
            Test::Exists => range(None, None),
        }
    }

    /// Whether it is a single value: rows of its range are then in the order of keys.
    fn is_single(&self) -> bool {
        self.from.is_some() && self.from == self.to
    }

    fn condition(&self, bindings: &mut Bindings, column: &str) -> String {
        if let (true, Some((value, _))) = (self.is_single(), &self.from) {
            return format!(" AND {column} = {}", bindings.bind(value.clone()));
        }
        let mut end = |end: &Option<(Value, bool)>, inside: &str, outside: &str| match end {
            Some((value, is_in)) => {
                let operator = if *is_in { inside } else { outside };
                format!(" AND {column} {operator} {}", bindings.bind(value.clone()))
            }
            None => String::new(),
        };
        end(&self.from, ">=", ">") + &end(&self.to, "<=", "<")
    }
}

/// The first text after all those that begin with this one; `None` if there is no such text.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut text: Vec<char> = prefix.chars().collect();
    while let Some(last) = text.pop() {
        let next = match last {
            // Between these there are no characters.
            '\u{d7ff}' => Some('\u{e000}'),
            last => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            text.push(next);
            return Some(text.into_iter().collect());
        }
    }
    None
}

/// A range of an index.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// All instances with these keys: in the order of creation.
    Keys { from: i64, to: i64 },
    /// Ids, in their order.
    Ids(ValueRange),
    /// Stopped instances of one status by the time of their last change.
    Stopped(StatusKind, TimeRange),
    /// Values of an attribute.
    Attribute { number: i64, values: ValueRange },
    /// Instances of an orchestration, in the order of creation.
    Name(String),
    /// Children of an instance, in the order of creation.
    Parent(String),
}

impl Source {
    /// The sources that have all instances of which this field passes this test; `None` if no
    /// index has them.
    pub(super) fn of(field: &Field, test: &Test, numbers: &AttributeNumbers) -> Option<Vec<Self>> {
        let texts = |source: fn(String) -> Self| {
            let Test::In(values) = test else {
                return None;
            };
            let texts = values.iter().filter_map(|value| match value {
                AttributeValue::Text(text) => Some(source(text.clone())),
                AttributeValue::Integer(_) | AttributeValue::Time(_) | AttributeValue::Bool(_) => {
                    None
                }
            });
            Some(texts.collect())
        };
        match field {
            Field::Id if *test == Test::Exists => None,
            Field::Id => Some(ValueRange::of(test).into_iter().map(Self::Ids).collect()),
            Field::Name => texts(Self::Name),
            Field::Parent => texts(Self::Parent),
            Field::Attribute(name) => {
                let mut sources = Vec::new();
                for (kind, test) in by_kind(test) {
                    let Some(number) = numbers.number(name, kind) else {
                        continue;
                    };
                    let ranges = ValueRange::of(&test).into_iter();
                    sources.extend(ranges.map(|values| Self::Attribute { number, values }));
                }
                Some(sources)
            }
            // Versions are few; times have bounds of their own.
            Field::Version | Field::Created | Field::Changed => None,
        }
    }

    /// All ids.
    pub(super) fn all_ids() -> Self {
        Self::Ids(ValueRange::default())
    }

    /// By what its rows are ordered, if they are.
    pub(super) fn order(&self) -> Option<OrderBy> {
        match self {
            Self::Keys { .. } | Self::Name(_) | Self::Parent(_) => Some(OrderBy::Created),
            Self::Attribute { values, .. } => values.is_single().then_some(OrderBy::Created),
            Self::Ids(_) => Some(OrderBy::Id),
            Self::Stopped(..) => Some(OrderBy::Changed),
        }
    }

    /// The key of an instance in its rows.
    pub(super) const fn key(&self) -> &'static str {
        match self {
            Self::Keys { .. } | Self::Stopped(..) => "i.key",
            Self::Ids(_) | Self::Name(_) | Self::Parent(_) => "r.key",
            Self::Attribute { .. } => "d.instance_key",
        }
    }

    /// Its rows, with those of these tables; and which of them pass its condition.
    pub(super) fn from(&self, tables: Tables, bindings: &mut Bindings) -> String {
        let (table, has) = match self {
            Self::Keys { .. } => ("instance AS i", Tables::default().with_instance()),
            Self::Stopped(..) => (
                "instance AS i INDEXED BY instance_stopped",
                Tables::default().with_instance(),
            ),
            Self::Ids(_) => (
                "record AS r INDEXED BY record_id",
                Tables::default().with_record(),
            ),
            Self::Name(_) => (
                "record AS r INDEXED BY record_name",
                Tables::default().with_record(),
            ),
            Self::Parent(_) => (
                "record AS r INDEXED BY record_parent",
                Tables::default().with_record(),
            ),
            Self::Attribute { .. } => ("attribute AS d", Tables::default()),
        };
        let key = self.key();
        let mut from = table.to_owned();
        if tables.instance && !has.instance {
            from += &format!(" CROSS JOIN instance AS i ON i.key = {key}");
        }
        if tables.record && !has.record {
            from += &format!(" CROSS JOIN record AS r ON r.key = {key}");
        }
        format!("{from} WHERE {}", self.condition(bindings))
    }

    fn condition(&self, bindings: &mut Bindings) -> String {
        match self {
            Self::Keys { from, to } => {
                let (from, to) = (bindings.bind(*from), bindings.bind(*to));
                format!("i.key >= {from} AND i.key <= {to}")
            }
            Self::Ids(range) => {
                let all = if range.from.is_none() {
                    "r.id >= ''"
                } else {
                    "1"
                };
                format!("{all}{}", range.condition(bindings, "r.id"))
            }
            Self::Stopped(status, times) => {
                let mut condition = format!(
                    "i.status_kind >= 2 AND i.status_kind = {}",
                    status_number(*status)
                );
                if times.from_ms > i64::MIN {
                    let from = bindings.bind(times.from_ms);
                    condition += &format!(" AND i.updated_at_ms >= {from}");
                }
                if times.to_ms < i64::MAX {
                    let to = bindings.bind(times.to_ms);
                    condition += &format!(" AND i.updated_at_ms <= {to}");
                }
                condition
            }
            Self::Attribute { number, values } => {
                let number = bindings.bind(*number);
                let values = values.condition(bindings, "d.value");
                format!("d.name = {number}{values}")
            }
            Self::Name(name) => format!("r.name = {}", bindings.bind(name.clone())),
            Self::Parent(id) => {
                let id = bindings.bind(id.clone());
                format!("r.parent_instance IS NOT NULL AND r.parent_instance = {id}")
            }
        }
    }

    /// The part of it after a place in its order, and what else keeps its rows to that. Each end
    /// of a range is said once: of two SQLite may take the one that leaves more.
    pub(super) fn after(
        &self,
        position: &PagePosition,
        direction: Direction,
        bindings: &mut Bindings,
    ) -> (Self, String) {
        let is_ascending = direction.is_ascending();
        let operator = if is_ascending { ">" } else { "<" };
        let key = int(position.number);
        match self.clone() {
            Self::Keys { from, to } if is_ascending => {
                let from = from.max(key.saturating_add(1));
                (Self::Keys { from, to }, String::new())
            }
            Self::Keys { from, to } => {
                let to = to.min(key.saturating_sub(1));
                (Self::Keys { from, to }, String::new())
            }
            Self::Ids(mut range) => {
                let end = (Value::Text(position.instance.clone()), false);
                match is_ascending {
                    true => range.from = Some(end),
                    false => range.to = Some(end),
                }
                (Self::Ids(range), String::new())
            }
            Self::Stopped(status, mut times) => {
                match is_ascending {
                    true => times.from_ms = i64::MIN,
                    false => times.to_ms = i64::MAX,
                }
                let time = bindings.bind(int(position.time_ms));
                let key = bindings.bind(key);
                let after = format!(" AND (i.updated_at_ms, i.key) {operator} ({time}, {key})");
                (Self::Stopped(status, times), after)
            }
            source @ (Self::Name(_) | Self::Parent(_) | Self::Attribute { .. }) => {
                let after = format!(" AND {} {operator} {}", source.key(), bindings.bind(key));
                (source, after)
            }
        }
    }

    /// Its rows in its order.
    pub(super) fn ordered(&self, direction: Direction) -> String {
        let word = if direction.is_ascending() {
            ""
        } else {
            " DESC"
        };
        match self {
            Self::Ids(_) => format!(" ORDER BY r.id{word}"),
            Self::Stopped(..) => format!(" ORDER BY i.updated_at_ms{word}, i.key{word}"),
            Self::Keys { .. } | Self::Name(_) | Self::Parent(_) | Self::Attribute { .. } => {
                format!(" ORDER BY {}{word}", self.key())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_prefix_is_the_next_text() {
        assert_eq!(after_prefix("ab").as_deref(), Some("ac"));
        assert_eq!(after_prefix("a\u{d7ff}").as_deref(), Some("a\u{e000}"));
        assert_eq!(after_prefix("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(after_prefix("\u{10ffff}"), None);
        assert_eq!(after_prefix(""), None);
    }
}
