//! The catalog: the code that instances need, the lanes that work is in and the names of
//! attributes, as numbers.
//!
//! Ready instances are indexed by the number of their code, and free work by the number of
//! its lane, so that a fetch looks only at what its session can run, and there only at the
//! numbers under which something may be. Rows are never changed or removed, so a number
//! means the same for ever.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use durable_core::provider::{Change, RequiredCode, ServedCode, WorkItem};
use durable_core::{AttributeKind, Name, Version};
use rusqlite::{Connection, Row, params};

use super::Store;
use super::attribute::AttributeName;
use crate::error::Step;
use crate::number::int;
use crate::sql;

/// The number of the code that an instance needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CodeNumber(pub(super) i64);

impl CodeNumber {
    /// The instance needs no code.
    pub(super) const NONE: Self = Self(0);

    /// In the place of the holder of an instance that no session holds.
    pub(super) const fn as_holder(self) -> i64 {
        -self.0
    }
}

/// The number of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LaneNumber(pub(super) i64);

/// The work of one activity in one queue; `None` is the default queue.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Lane {
    pub(super) queue: Option<Name>,
    pub(super) activity: Name,
}

impl Lane {
    pub(super) fn of(item: &WorkItem) -> Self {
        Self {
            queue: item.options.queue.clone(),
            activity: item.name.clone(),
        }
    }

    /// Whether a session with this code (`None` is any) that asks for work of these queues
    /// may have its work.
    pub(super) fn is_claimable(&self, queues: &[Option<Name>], code: Option<&ServedCode>) -> bool {
        let has_code = code.is_none_or(|code| code.has_activity(&self.activity));
        has_code && queues.contains(&self.queue)
    }

    /// Its work has become free.
    pub(super) fn to_change(&self) -> Change {
        Change::Work {
            queue: self.queue.clone(),
            activity: self.activity.clone(),
        }
    }
}

/// Things that have numbers from 1 on, and the numbers under which something may be free.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    things: Vec<T>,
    numbers: HashMap<T, i64>,
    busy: BTreeSet<i64>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self {
            things: Vec::new(),
            numbers: HashMap::new(),
            busy: BTreeSet::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    pub(super) fn number(&self, thing: &T) -> Option<i64> {
        self.numbers.get(thing).copied()
    }

    pub(super) fn thing(&self, number: i64) -> Option<&T> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        self.things.get(index)
    }

    /// The number of the next thing that is added.
    pub(super) fn next_number(&self) -> i64 {
        int(u64::try_from(self.things.len() + 1).unwrap_or(u64::MAX))
    }

    pub(super) fn add(&mut self, thing: T) -> i64 {
        self.things.push(thing.clone());
        let number = i64::try_from(self.things.len()).unwrap_or(i64::MAX);
        self.numbers.insert(thing, number);
        self.busy.insert(number);
        number
    }

    /// Those under which something may be free, now or later.
    pub(super) fn busy(&self) -> impl Iterator<Item = (i64, Option<&T>)> {
        self.busy
            .iter()
            .map(|number| (*number, self.thing(*number)))
    }

    /// All that there are.
    pub(super) fn all(&self) -> impl Iterator<Item = (i64, &T)> {
        (1..).zip(&self.things)
    }

    pub(super) fn mark_busy(&mut self, number: i64) {
        self.busy.insert(number);
    }

    /// Nothing is free under this number, now or later, until it is marked again.
    pub(super) fn mark_idle(&mut self, number: i64) {
        self.busy.remove(&number);
    }
}

/// The codes, lanes and attributes of a store.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    is_read: bool,
    pub(super) codes: Numbered<RequiredCode>,
    pub(super) lanes: Numbered<Lane>,
    pub(super) attributes: Numbered<AttributeName>,
}

impl Catalog {
    /// Forgets everything: it is read again before it is used.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn read(&mut self, connection: &Connection) -> Step<()> {
        self.forget();
        let code = |row: &Row<'_>| {
            let version: String = row.get(2)?;
            let version = (!version.is_empty()).then(|| Version::from(version));
            Ok(RequiredCode::new(row.get::<_, String>(1)?, version))
        };
        for code in read_all(connection, sql::CODES_READ, code)? {
            self.codes.add(code);
        }
        // What needs no code has no row.
        self.codes.mark_busy(CodeNumber::NONE.0);
        let lane = |row: &Row<'_>| {
            let queue: String = row.get(1)?;
            Ok(Lane {
                queue: (!queue.is_empty()).then(|| Name::from(queue)),
                activity: Name::from(row.get::<_, String>(2)?),
            })
        };
        for lane in read_all(connection, sql::LANES_READ, lane)? {
            self.lanes.add(lane);
        }
        let attribute = |row: &Row<'_>| {
            let number: u8 = row.get(2)?;
            let out_of_range = rusqlite::Error::IntegralValueOutOfRange(2, number.into());
            Ok(AttributeName {
                name: Name::from(row.get::<_, String>(1)?),
                kind: AttributeKind::from_number(number).ok_or(out_of_range)?,
            })
        };
        for attribute in read_all(connection, sql::ATTRIBUTE_NAMES_READ, attribute)? {
            self.attributes.add(attribute);
        }
        self.is_read = true;
        Ok(())
    }
}

fn read_all<T>(
    connection: &Connection,
    text: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Step<Vec<T>> {
    let mut statement = connection.prepare_cached(text)?;
    let rows = statement.query_map([], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

impl Store<'_, '_> {
    /// The catalog, as the file has it.
    pub(super) fn catalog(&mut self) -> Step<&mut Catalog> {
        let catalog = &mut self.state.catalog;
        if !catalog.is_read {
            catalog.read(self.statements.connection)?;
        }
        Ok(catalog)
    }

    /// The number of this code, which is added if it is new.
    pub(super) fn code_number(&mut self, code: RequiredCode) -> Step<CodeNumber> {
        let RequiredCode::Orchestration { name, version } = &code else {
            return Ok(CodeNumber::NONE);
        };
        if let Some(number) = self.catalog()?.codes.number(&code) {
            return Ok(CodeNumber(number));
        }
        let version = version.as_deref().unwrap_or_default();
        let number = self.state.catalog.codes.next_number();
        let row = params![number, name.as_str(), version];
        self.run(sql::CODE_ADD, row)?;
        Ok(CodeNumber(self.state.catalog.codes.add(code)))
    }

    /// Whether this is the number of a code of this orchestration.
    pub(super) fn is_code_of(&mut self, number: CodeNumber, name: &Name) -> Step<bool> {
        let code = self.catalog()?.codes.thing(number.0);
        let known = code.and_then(|code| match code {
            RequiredCode::Orchestration { name, .. } => Some(name),
            RequiredCode::None => None,
        });
        Ok(known == Some(name))
    }

    /// The number of the lane of this work, which is added if it is new.
    pub(super) fn lane_number(&mut self, item: &WorkItem) -> Step<LaneNumber> {
        let lane = Lane::of(item);
        if let Some(number) = self.catalog()?.lanes.number(&lane) {
            return Ok(LaneNumber(number));
        }
        let queue = lane.queue.as_deref().unwrap_or_default();
        let number = self.state.catalog.lanes.next_number();
        let row = params![number, queue, lane.activity.as_str()];
        self.run(sql::LANE_ADD, row)?;
        Ok(LaneNumber(self.state.catalog.lanes.add(lane)))
    }

    /// Work of this lane is free, now or later: the sessions that can run it are told.
    pub(super) fn note_free_work(&mut self, number: LaneNumber) -> Step<()> {
        let lanes = &mut self.catalog()?.lanes;
        lanes.mark_busy(number.0);
        let change = lanes.thing(number.0).map(Lane::to_change);
        if let Some(change) = change {
            self.note(change);
        }
        Ok(())
    }

    /// An instance that needs this code is free and ready, now or later: the sessions that
    /// can run it are told.
    pub(super) fn note_free_instance(&mut self, number: CodeNumber) -> Step<()> {
        let codes = &mut self.catalog()?.codes;
        codes.mark_busy(number.0);
        let code = codes.thing(number.0).cloned();
        self.note(Change::FreeInstance(code.unwrap_or(RequiredCode::None)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_under_which_something_may_be_are_busy() {
        let mut numbered = Numbered::default();
        assert_eq!((numbered.add("a"), numbered.add("b")), (1, 2));
        assert_eq!(numbered.number(&"b"), Some(2));
        numbered.mark_idle(1);
        assert_eq!(numbered.busy().collect::<Vec<_>>(), [(2, Some(&"b"))]);
        numbered.mark_busy(1);
        numbered.mark_busy(0);
        let busy: Vec<_> = numbered.busy().collect();
        assert_eq!(busy, [(0, None), (1, Some(&"a")), (2, Some(&"b"))]);
        assert_eq!(numbered.all().collect::<Vec<_>>(), [(1, &"a"), (2, &"b")]);
        assert_eq!((numbered.thing(0), numbered.thing(3)), (None, None));
    }
}
