//! Where candidates come from: ranges of sorted sets whose members are in the order of bytes.

use durable_core::filter::{Direction, Field, IndexTerm, PagePosition, Test, TimeRange};
use durable_core::provider::StatusKind;
use durable_core::{AttributeKind, AttributeValue};

use crate::attribute::{group, id_of, member, push_text, push_value};
use crate::codec::status_number;
use crate::keys::Partition;

/// How many digits a time has in a member.
const TIME_DIGITS: usize = 17;

/// A sorted set of each partition.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Set {
    Ids,
    Creations,
    Stopped(StatusKind),
    /// With what the members of the attribute begin.
    Attribute(Vec<u8>),
}

/// An end of a range: `-`, `+`, `[member` or `(member`.
type End = Vec<u8>;

/// A range of a sorted set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    set: Set,
    pub(super) from: End,
    pub(super) to: End,
}

/// A member: the instance, and the time by which its set is ordered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub(super) time_ms: u64,
    pub(super) id: String,
}

impl Source {
    pub(super) fn all_ids() -> Self {
        Self {
            set: Set::Ids,
            from: b"-".to_vec(),
            to: b"+".to_vec(),
        }
    }

    pub(super) fn all_by_creation(times: TimeRange) -> Self {
        let (from, to) = times_range(b"", times);
        Self {
            set: Set::Creations,
            from,
            to,
        }
    }

    /// The sources that have the instances of a term; `None` if no set has them.
    pub(super) fn of(term: &IndexTerm) -> Option<Vec<Self>> {
        match term {
            IndexTerm::Created(times) => Some(vec![Self::all_by_creation(*times)]),
            IndexTerm::Stopped(statuses, times) => {
                let of_status = |status| {
                    let (from, to) = times_range(status_number(status).as_bytes(), *times);
                    let set = Set::Stopped(status);
                    Self { set, from, to }
                };
                Some(statuses.iter().map(of_status).collect())
            }
            IndexTerm::Test(Field::Id, test) => ids(test),
            IndexTerm::Test(Field::Attribute(name), test) => Some(
                AttributeKind::ALL
                    .into_iter()
                    .flat_map(|kind| attributes(name, kind, test))
                    .collect(),
            ),
            // These have no set; times have terms of their own.
            IndexTerm::Test(
                Field::Name | Field::Version | Field::Parent | Field::Created | Field::Changed,
                _,
            ) => None,
        }
    }

    pub(super) fn key(&self, partition: &Partition) -> String {
        match &self.set {
            Set::Ids => partition.index(),
            Set::Creations => partition.creations(),
            Set::Stopped(_) => partition.stopped(),
            Set::Attribute(_) => partition.attributes(),
        }
    }

    /// The range after a place in its order.
    pub(super) fn after(mut self, position: &PagePosition, direction: Direction) -> Self {
        let mut end = b"(".to_vec();
        match &self.set {
            // Those of an attribute are by value: they are read as a whole and sorted.
            Set::Ids | Set::Attribute(_) => {}
            Set::Creations => end.extend(time_text(position.time_ms).bytes()),
            Set::Stopped(status) => {
                end.extend(status_number(*status).bytes());
                end.extend(time_text(position.time_ms).bytes());
            }
        }
        end.extend(position.instance.bytes());
        // Of two ends the one that leaves less is kept.
        match direction {
            Direction::Ascending if self.from == b"-" || end[1..] >= self.from[1..] => {
                self.from = end;
            }
            Direction::Descending if self.to == b"+" || end[1..] <= self.to[1..] => {
                self.to = end;
            }
            Direction::Ascending | Direction::Descending => {}
        }
        self
    }

    /// The candidate of a member.
    pub(super) fn candidate(&self, member: &[u8]) -> Option<Candidate> {
        let timed = |text: &[u8]| {
            let (time, id) = text.split_at_checked(TIME_DIGITS)?;
            Some(Candidate {
                time_ms: std::str::from_utf8(time).ok()?.parse().ok()?,
                id: String::from_utf8(id.to_vec()).ok()?,
            })
        };
        let plain = |id: &[u8]| {
            Some(Candidate {
                time_ms: 0,
                id: String::from_utf8(id.to_vec()).ok()?,
            })
        };
        match &self.set {
            Set::Ids => plain(member),
            Set::Creations => timed(member),
            Set::Stopped(_) => timed(member.get(1..)?),
            Set::Attribute(group) => plain(id_of(group, member)?),
        }
    }
}

/// A time as a member has it.
fn time_text(time_ms: u64) -> String {
    format!("{time_ms:0TIME_DIGITS$}")
}

/// The members that begin with this, and then one of these times.
fn times_range(prefix: &[u8], times: TimeRange) -> (End, End) {
    let time = |time_ms: i64| time_text(u64::try_from(time_ms).unwrap_or(0));
    let end = |operator: &[u8], time: String| [operator, prefix, time.as_bytes()].concat();
    let from = end(b"[", time(times.from_ms));
    // An empty range has no member: it ends where it begins.
    let to = match times.to_ms.checked_add(1) {
        _ if times.is_empty() || times.to_ms < 0 => end(b"(", time(times.from_ms)),
        Some(after_ms) if after_ms < 100_000_000_000_000_000 => end(b"(", time(after_ms)),
        // Digits come before `:`.
        Some(_) | None => [b"(".as_slice(), prefix, b":"].concat(),
    };
    (from, to)
}

/// Ids that pass a test.
fn ids(test: &Test) -> Option<Vec<Source>> {
    let texts = |value: &AttributeValue| match value {
        AttributeValue::Text(text) => Some(text.as_bytes().to_vec()),
        AttributeValue::Integer(_) | AttributeValue::Time(_) | AttributeValue::Bool(_) => None,
    };
    let end = |operator: &[u8], text: Vec<u8>| [operator, &text].concat();
    let source = |from, to| Source {
        set: Set::Ids,
        from,
        to,
    };
    let (first, last) = (b"-".to_vec(), b"+".to_vec());
    let sources = match test {
        Test::In(values) => {
            let texts = values.iter().filter_map(texts);
            texts
                .map(|text| source(end(b"[", text.clone()), end(b"[", text)))
                .collect()
        }
        Test::Less(to) => vec![source(first, end(b"(", texts(to)?))],
        Test::AtMost(to) => vec![source(first, end(b"[", texts(to)?))],
        Test::Greater(from) => vec![source(end(b"(", texts(from)?), last)],
        Test::AtLeast(from) => vec![source(end(b"[", texts(from)?), last)],
        Test::Between(from, to) => {
            vec![source(end(b"[", texts(from)?), end(b"[", texts(to)?))]
        }
        Test::StartsWith(prefix) => {
            let after = [prefix.as_bytes(), &[0xff]].concat();
            vec![source(end(b"[", prefix.clone().into()), end(b"(", after))]
        }
        Test::Exists => return None,
    };
    Some(sources)
}

/// Members of an attribute whose values are of one type and pass a test.
fn attributes(name: &str, kind: AttributeKind, test: &Test) -> Vec<Source> {
    let group = group(name, kind);
    let of_kind = |value: &&AttributeValue| value.kind() == kind;
    // All members with this value, and the first that can follow them.
    let member_of = |value: &AttributeValue| member(name, value);
    let after_value = |value: &AttributeValue| {
        let mut after = group.clone();
        push_value(&mut after, value);
        // The end of a value is two bytes 0.
        after.extend([0, 1]);
        after
    };
    let end = |operator: &[u8], member: Vec<u8>| [operator, &member].concat();
    let source = |from: End, to: End| Source {
        set: Set::Attribute(group.clone()),
        from,
        to,
    };
    let first = || end(b"[", group.clone());
    // No member of the group has a byte 0xff after it: it is in no text.
    let last = || end(b"(", [group.as_slice(), &[0xff]].concat());
    match test {
        Test::In(values) => values
            .iter()
            .filter(of_kind)
            .map(|value| source(end(b"[", member_of(value)), end(b"(", after_value(value))))
            .collect(),
        Test::Less(to) if of_kind(&to) => vec![source(first(), end(b"(", member_of(to)))],
        Test::AtMost(to) if of_kind(&to) => vec![source(first(), end(b"(", after_value(to)))],
        Test::Greater(from) if of_kind(&from) => {
            vec![source(end(b"[", after_value(from)), last())]
        }
        Test::AtLeast(from) if of_kind(&from) => vec![source(end(b"[", member_of(from)), last())],
        Test::Between(from, to) if of_kind(&from) && of_kind(&to) => {
            vec![source(
                end(b"[", member_of(from)),
                end(b"(", after_value(to)),
            )]
        }
        Test::StartsWith(prefix) if kind == AttributeKind::Text => {
            let mut from = group.clone();
            push_text(&mut from, prefix);
            let to = [from.as_slice(), &[0xff]].concat();
            vec![source(end(b"[", from), end(b"(", to))]
        }
        Test::Exists => vec![source(first(), last())],
        // Values of another type.
        Test::Less(_)
        | Test::AtMost(_)
        | Test::Greater(_)
        | Test::AtLeast(_)
        | Test::Between(..)
        | Test::StartsWith(_) => Vec::new(),
    }
}
