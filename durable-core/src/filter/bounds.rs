//! What a filter implies: bounds by which a store finds its candidates without looking at
//! every instance.

use core::fmt;

use super::{Field, Filter, Node, Test};
use crate::attribute::AttributeValue;
use crate::provider::StatusKind;

/// A set of statuses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StatusSet(u8);

impl StatusSet {
    /// All statuses.
    pub fn all() -> Self {
        StatusKind::ALL.into_iter().collect()
    }

    /// Suspended and ended: what does nothing by itself.
    pub fn stopped() -> Self {
        let kinds = StatusKind::ALL.into_iter();
        kinds.filter(|kind| kind.is_stopped()).collect()
    }

    const fn bit(status: StatusKind) -> u8 {
        1 << status as u8
    }

    /// Whether this status is one of them.
    pub const fn contains(self, status: StatusKind) -> bool {
        self.0 & Self::bit(status) != 0
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of them are in the other set.
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Them, in their order.
    pub fn iter(self) -> impl Iterator<Item = StatusKind> {
        let kinds = StatusKind::ALL.into_iter();
        kinds.filter(move |status| self.contains(*status))
    }
}

impl FromIterator<StatusKind> for StatusSet {
    fn from_iter<I: IntoIterator<Item = StatusKind>>(statuses: I) -> Self {
        let bits = statuses.into_iter().map(Self::bit);
        Self(bits.fold(0, |set, bit| set | bit))
    }
}

impl fmt::Debug for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// A range of times in milliseconds since the Unix epoch, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TimeRange {
    /// The first.
    pub from_ms: i64,
    /// The last; before the first if the range is empty.
    pub to_ms: i64,
}

impl TimeRange {
    /// All times.
    pub const ALL: Self = Self {
        from_ms: i64::MIN,
        to_ms: i64::MAX,
    };
    const NONE: Self = Self {
        from_ms: i64::MAX,
        to_ms: i64::MIN,
    };

    /// Whether no time is in it.
    pub const fn is_empty(self) -> bool {
        self.from_ms > self.to_ms
    }

    /// What is in both.
    fn and(self, other: Self) -> Self {
        Self {
            from_ms: self.from_ms.max(other.from_ms),
            to_ms: self.to_ms.min(other.to_ms),
        }
    }

    /// The smallest range with all that is in one of them.
    fn or(self, other: Self) -> Self {
        Self {
            from_ms: self.from_ms.min(other.from_ms),
            to_ms: self.to_ms.max(other.to_ms),
        }
    }

    fn of(test: &Test) -> Self {
        let times = |value: &AttributeValue| match value {
            AttributeValue::Time(time_ms) => Some(*time_ms),
            AttributeValue::Text(_) | AttributeValue::Integer(_) | AttributeValue::Bool(_) => None,
        };
        let range = |from_ms, to_ms| Self { from_ms, to_ms };
        let found = match test {
            Test::In(values) => {
                let each = values
                    .iter()
                    .filter_map(times)
                    .map(|time| range(time, time));
                each.reduce(Self::or)
            }
            // A range that would begin after all times has none.
            Test::Less(limit) => times(limit)
                .and_then(|time| time.checked_sub(1))
                .map(|time| range(i64::MIN, time)),
            Test::AtMost(limit) => times(limit).map(|time| range(i64::MIN, time)),
            Test::Greater(limit) => times(limit)
                .and_then(|time| time.checked_add(1))
                .map(|time| range(time, i64::MAX)),
            Test::AtLeast(limit) => times(limit).map(|time| range(time, i64::MAX)),
            Test::Between(from, to) => times(from).zip(times(to)).map(|(from, to)| range(from, to)),
            Test::StartsWith(_) => None,
            Test::Exists => Some(Self::ALL),
        };
        found.unwrap_or(Self::NONE)
    }
}

impl Filter {
    /// The statuses that an instance which is meant may have.
    ///
    /// ```
    /// use durable_core::filter::{Filter, StatusSet};
    ///
    /// let filter = Filter::parse("customer = c-17 and status in (failed, suspended)", 0)?;
    /// assert!(filter.statuses().is_within(StatusSet::stopped()));
    /// let filter = Filter::parse("customer = c-17 or status = failed", 0)?;
    /// assert_eq!(filter.statuses(), StatusSet::all());
    /// # Ok::<(), durable_core::filter::FilterError>(())
    /// ```
    pub fn statuses(&self) -> StatusSet {
        match &self.node {
            Node::All | Node::Test(..) => StatusSet::all(),
            Node::Nothing => StatusSet::default(),
            Node::Status(statuses) => *statuses,
            Node::Not(part) => match &part.node {
                Node::Status(statuses) => StatusSet(StatusSet::all().0 & !statuses.0),
                Node::All
                | Node::Nothing
                | Node::Test(..)
                | Node::Not(_)
                | Node::And(_)
                | Node::Or(_) => StatusSet::all(),
            },
            Node::And(parts) => {
                let sets = parts.iter().map(|part| part.statuses().0);
                StatusSet(sets.fold(StatusSet::all().0, |one, other| one & other))
            }
            Node::Or(parts) => {
                let sets = parts.iter().map(|part| part.statuses().0);
                StatusSet(sets.fold(0, |one, other| one | other))
            }
        }
    }

    /// The range of times at which an instance which is meant may have been created.
    pub fn created(&self) -> TimeRange {
        self.times(&Field::Created)
    }

    /// The range of times at which an instance which is meant may have changed last.
    pub fn changed(&self) -> TimeRange {
        self.times(&Field::Changed)
    }

    fn times(&self, field: &Field) -> TimeRange {
        match &self.node {
            Node::Nothing => TimeRange::NONE,
            Node::Test(tested, test) if tested == field => TimeRange::of(test),
            Node::All | Node::Status(_) | Node::Test(..) | Node::Not(_) => TimeRange::ALL,
            Node::And(parts) => {
                let ranges = parts.iter().map(|part| part.times(field));
                ranges.fold(TimeRange::ALL, TimeRange::and)
            }
            Node::Or(parts) => {
                let ranges = parts.iter().map(|part| part.times(field));
                ranges.fold(TimeRange::NONE, TimeRange::or)
            }
        }
    }
}
