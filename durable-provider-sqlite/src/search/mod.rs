//! Finding instances: a plan, its candidates, the keys of one page.

mod condition;
mod names;
mod plan;
mod source;
mod statement;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use durable_core::filter::{InstanceQuery, Order, OrderBy, PagePosition, PageToken};
use durable_core::provider::ProviderError;
use rusqlite::{Connection, Row, Rows};

use crate::error::Step;
use crate::number::{int, uint};

use names::AttributeNumbers;
use plan::{Plan, Planner};
use source::Source;

/// The instances of a page, by their keys.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) keys: Vec<i64>,
    pub(crate) next: Option<PageToken>,
}

/// Finds a page of the instances that a query means. The connection is in a transaction, so
/// that all of it is one look at the file.
pub(crate) fn find(
    connection: &Connection,
    query: &InstanceQuery,
    page: Option<&PageToken>,
    max: usize,
) -> Step<Found> {
    query.check()?;
    let after = page.map(|page| page.position_in(query)).transpose()?;
    let numbers = AttributeNumbers::read(connection, &query.filter)?;
    let search = Search {
        connection,
        query,
        numbers: &numbers,
        after,
        max: max.max(1),
    };
    let found = match Planner::new(connection, &numbers).plan(query)? {
        Plan::Sort(sources) => search.sort(&sources)?,
        Plan::Walk { sources, rows } => search.walk(&sources, rows)?,
    };
    Ok(Found {
        keys: found.keys,
        next: found.next.map(|position| PageToken::after(query, position)),
    })
}

/// A row of a source.
#[derive(Debug)]
struct Candidate {
    key: i64,
    time_ms: i64,
    id: String,
    is_meant: bool,
}

impl Candidate {
    /// The columns of the statements of a search.
    fn read(row: &Row<'_>) -> Step<Self> {
        Ok(Self {
            key: row.get(0)?,
            time_ms: row.get(1)?,
            id: row.get(2)?,
            is_meant: row.get(3)?,
        })
    }

    fn place(&self) -> (i64, i64, &str) {
        (self.time_ms, self.key, &self.id)
    }

    fn position(&self) -> PagePosition {
        let mut position = PagePosition::numbered(uint(self.time_ms), uint(self.key));
        position.instance.clone_from(&self.id);
        position
    }
}

/// Where the keys of a page end.
#[derive(Debug, Default)]
struct FoundKeys {
    keys: Vec<i64>,
    next: Option<PagePosition>,
}

struct Search<'a> {
    connection: &'a Connection,
    query: &'a InstanceQuery,
    numbers: &'a AttributeNumbers,
    after: Option<&'a PagePosition>,
    max: usize,
}

impl Search<'_> {
    /// Reads all that is meant, and sorts it.
    fn sort(&self, sources: &[Source]) -> Step<FoundKeys> {
        let order = self.query.order;
        let after = self.after.map(place_of);
        let mut meant: Vec<Candidate> = Vec::new();
        for source in sources {
            let statement = statement::matching(source, self.query, self.numbers);
            let mut statement = statement.prepare(self.connection)?;
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                let candidate = Candidate::read(row)?;
                let is_later =
                    after.is_none_or(|after| compare(order, candidate.place(), after).is_gt());
                if is_later {
                    meant.push(candidate);
                }
            }
        }
        meant.sort_unstable_by(|one, other| compare(order, one.place(), other.place()));
        // Two sources may have the same instance.
        meant.dedup_by_key(|candidate| candidate.key);
        let has_more = meant.len() > self.max;
        meant.truncate(self.max);
        let last = meant.last().map(Candidate::position);
        Ok(FoundKeys {
            keys: meant.iter().map(|candidate| candidate.key).collect(),
            next: last.filter(|_| has_more),
        })
    }

    /// Merges sources that are in the order of the list, and looks at so many rows at most.
    fn walk(&self, sources: &[Source], rows: usize) -> Step<FoundKeys> {
        let order = self.query.order;
        let mut statements = Vec::new();
        for source in sources {
            let statement = statement::walk(source, self.query, self.numbers, self.after);
            statements.push(statement.prepare(self.connection)?);
        }
        let mut heads = Vec::new();
        for statement in &mut statements {
            heads.push(Head::new(statement.raw_query())?);
        }
        let mut found = FoundKeys::default();
        let mut last: Option<Candidate> = None;
        let mut looked_at = 0;
        loop {
            let first = heads
                .iter_mut()
                .filter(|head| head.candidate.is_some())
                .min_by(|one, other| one.compare(other, order));
            let Some(candidate) = first.map(Head::take).transpose()?.flatten() else {
                return Ok(found);
            };
            // Two sources may have the same instance.
            if last.as_ref().is_some_and(|last| last.key == candidate.key) {
                continue;
            }
            let is_beyond = found.keys.len() >= self.max && candidate.is_meant;
            if is_beyond || looked_at >= rows {
                found.next = last.as_ref().map(Candidate::position);
                return Ok(found);
            }
            looked_at += 1;
            if candidate.is_meant {
                found.keys.push(candidate.key);
            }
            last = Some(candidate);
        }
    }
}

/// The next row of a source.
struct Head<'s> {
    rows: Rows<'s>,
    candidate: Option<Candidate>,
}

impl<'s> Head<'s> {
    fn new(rows: Rows<'s>) -> Step<Self> {
        let mut head = Self {
            rows,
            candidate: None,
        };
        head.take()?;
        Ok(head)
    }

    /// Takes the row, and reads the one after it.
    fn take(&mut self) -> Step<Option<Candidate>> {
        let next = match self.rows.next()? {
            Some(row) => Some(Candidate::read(row)?),
            None => None,
        };
        Ok(std::mem::replace(&mut self.candidate, next))
    }

    fn compare(&self, other: &Self, order: Order) -> Ordering {
        match (&self.candidate, &other.candidate) {
            (Some(one), Some(other)) => compare(order, one.place(), other.place()),
            (one, other) => other.is_some().cmp(&one.is_some()),
        }
    }
}

fn place_of(position: &PagePosition) -> (i64, i64, &str) {
    let PagePosition {
        time_ms,
        number,
        instance,
        ..
    } = position;
    (int(*time_ms), int(*number), instance)
}

/// The order of two places. Keys are in the order of creation.
fn compare(order: Order, one: (i64, i64, &str), other: (i64, i64, &str)) -> Ordering {
    let ascending = match order.by {
        OrderBy::Id => one.2.cmp(other.2),
        // In the order of creation there are no times.
        OrderBy::Created | OrderBy::Changed => (one.0, one.1).cmp(&(other.0, other.1)),
    };
    order.direction.apply(ascending)
}

/// What is answered when a key that was just found has no record.
pub(crate) fn vanished(key: i64) -> ProviderError {
    ProviderError::Damaged {
        reason: format!("the record of the instance with the key {key} is missing"),
    }
}
