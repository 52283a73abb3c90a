//! Which index a list is driven from.
//!
//! No statistics are kept, and none are needed: for each term that an index has, the planner
//! counts its rows, up to [`InstanceQuery::MAX_SORTED`], which takes well below a millisecond.
//!
//! - The narrowest term that has at most so many rows drives: its rows are tested, and sorted
//!   if its index has them in another order.
//! - If there is none, the rows of an index in the order of the list are walked and tested, a
//!   bounded number of them for a page. By creation that is the index of an equality, if there
//!   is one, else the instances themselves.

use durable_core::filter::{Filter, IndexTerm, InstanceQuery, Node, OrderBy, TimeRange};
use rusqlite::{Connection, OptionalExtension, Row};

use super::names::AttributeNumbers;
use super::source::Source;
use super::statement;
use crate::error::Step;
use crate::sql;

/// How many rows are looked at for a page when no term is narrow.
const WALKED_ROWS: usize = 5_000;
/// How many rows are counted for a plan at most.
const COUNTED_ROWS: usize = 10 * InstanceQuery::MAX_SORTED;

/// How a page is found.
#[derive(Debug, PartialEq)]
pub(super) enum Plan {
    /// The rows of all of these are read, tested and sorted.
    Sort(Vec<Source>),
    /// The rows of these, which are in the order of the list, are merged and tested.
    Walk {
        sources: Vec<Source>,
        /// At most so many rows.
        rows: usize,
    },
}

pub(super) struct Planner<'a> {
    connection: &'a Connection,
    numbers: &'a AttributeNumbers,
    counted: usize,
}

impl<'a> Planner<'a> {
    pub(super) const fn new(connection: &'a Connection, numbers: &'a AttributeNumbers) -> Self {
        Self {
            connection,
            numbers,
            counted: 0,
        }
    }

    pub(super) fn plan(&mut self, query: &InstanceQuery) -> Step<Plan> {
        let is_ordered = |sources: &[Source]| {
            sources
                .iter()
                .all(|source| source.order() == Some(query.order.by))
        };
        if let Some(sources) = self.narrowest(&query.filter)? {
            return Ok(match is_ordered(&sources) {
                true => Plan::Walk {
                    sources,
                    rows: usize::MAX,
                },
                false => Plan::Sort(sources),
            });
        }
        let rows = WALKED_ROWS;
        match query.order.by {
            OrderBy::Created => {
                let keys = self.keys(query.filter.created())?;
                let sources = self.by_creation(&query.filter).unwrap_or(vec![keys]);
                Ok(Plan::Walk { sources, rows })
            }
            OrderBy::Id => {
                let conjuncts = query.filter.conjuncts().iter();
                let mut ids = conjuncts.filter_map(|part| self.sources_of(part));
                let sources = ids.find(|sources| is_ordered(sources));
                let sources = sources.unwrap_or_else(|| vec![Source::all_ids()]);
                Ok(Plan::Walk { sources, rows })
            }
            OrderBy::Changed => {
                if let Some(term) = query.filter.stopped_term() {
                    let sources = self.sources_of_term(&term)?.unwrap_or_default();
                    return Ok(Plan::Walk { sources, rows });
                }
                let all = self.keys(TimeRange::ALL)?;
                match self.count(&all, InstanceQuery::MAX_SORTED)? {
                    Some(_) => Ok(Plan::Sort(vec![all])),
                    None => Err(query.too_many_to_sort().into()),
                }
            }
        }
    }

    /// The sources with the fewest rows that have all that a filter means, if these are at most
    /// as many as are sorted.
    fn narrowest(&mut self, filter: &Filter) -> Step<Option<Vec<Source>>> {
        let mut counts: Vec<(IndexTerm, usize)> = Vec::new();
        for term in filter.index_terms() {
            if let Some(sources) = self.sources_of_term(&term)?
                && let Some(count) = self.count_all(&sources, InstanceQuery::MAX_SORTED)?
            {
                counts.push((term, count));
            }
        }
        let count = |term: &IndexTerm| {
            let mut counts = counts.iter();
            counts
                .find(|(known, _)| known == term)
                .map(|(_, count)| *count)
        };
        let narrowest = filter.narrowest(&count);
        let Some((_, terms)) = narrowest.filter(|(count, _)| *count <= InstanceQuery::MAX_SORTED)
        else {
            return Ok(None);
        };
        let mut sources = Vec::new();
        for term in terms {
            sources.extend(self.sources_of_term(&term)?.unwrap_or_default());
        }
        Ok(Some(sources))
    }

    /// The sources that have the instances of a term; `None` if no index has them.
    fn sources_of_term(&self, term: &IndexTerm) -> Step<Option<Vec<Source>>> {
        Ok(match term {
            IndexTerm::Test(field, test) => Source::of(field, test, self.numbers),
            IndexTerm::Stopped(statuses, times) => {
                let sources = statuses
                    .iter()
                    .map(|status| Source::Stopped(status, *times));
                Some(sources.collect())
            }
            IndexTerm::Created(times) => Some(vec![self.keys(*times)?]),
        })
    }

    /// The sources of a single test.
    fn sources_of(&self, filter: &Filter) -> Option<Vec<Source>> {
        match filter.node() {
            Node::Test(field, test) => Source::of(field, test, self.numbers),
            Node::All
            | Node::Nothing
            | Node::Status(_)
            | Node::Not(_)
            | Node::And(_)
            | Node::Or(_) => None,
        }
    }

    /// Sources in the order of creation, among them all that a filter means.
    fn by_creation(&self, filter: &Filter) -> Option<Vec<Source>> {
        if let Node::Or(parts) = filter.node() {
            let sources = parts.iter().map(|part| self.by_creation(part));
            return Some(sources.collect::<Option<Vec<_>>>()?.concat());
        }
        let conjuncts = filter.conjuncts().iter();
        let mut sources = conjuncts.filter_map(|part| self.sources_of(part));
        sources.find(|sources| {
            let mut sources = sources.iter();
            sources.all(|source| source.order() == Some(OrderBy::Created))
        })
    }

    fn count_all(&mut self, sources: &[Source], limit: usize) -> Step<Option<usize>> {
        let mut count = 0;
        for source in sources {
            match self.count(source, limit - count)? {
                Some(more) => count += more,
                None => return Ok(None),
            }
        }
        Ok(Some(count))
    }

    /// How many rows a source has, if these are at most so many.
    fn count(&mut self, source: &Source, limit: usize) -> Step<Option<usize>> {
        if self.counted > COUNTED_ROWS {
            return Ok(None);
        }
        let mut counting = statement::count(source, limit).prepare(self.connection)?;
        let mut rows = counting.raw_query();
        let count: i64 = match rows.next()? {
            Some(row) => row.get(0)?,
            None => 0,
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        self.counted += count;
        Ok((count <= limit).then_some(count))
    }

    /// The keys of the instances that were created at these times.
    ///
    /// Keys rise with the time of creation, so the first one of a time is found by halving.
    fn keys(&self, times: TimeRange) -> Step<Source> {
        let from = match times.from_ms {
            i64::MIN => 0,
            from_ms => self.first_key_since(from_ms)?,
        };
        let to = match times.to_ms.checked_add(1) {
            Some(end_ms) => self.first_key_since(end_ms)?.saturating_sub(1),
            None => i64::MAX,
        };
        Ok(Source::Keys { from, to })
    }

    /// The least number such that the instances from it on were created at this time or later.
    fn first_key_since(&self, time_ms: i64) -> Step<i64> {
        let mut newest = self.connection.prepare_cached(sql::RECORD_NEWEST)?;
        let newest: Option<i64> = newest.query_row([], |row| row.get(0)).optional()?;
        let (mut low, mut high) = (0, newest.map_or(0, |key| key.saturating_add(1)));
        let mut statement = self.connection.prepare_cached(sql::RECORD_CREATED)?;
        let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        while low < high {
            let middle = low + (high - low) / 2;
            match statement.query_row([middle], read).optional()? {
                Some((key, created_ms)) if created_ms < time_ms => low = key.saturating_add(1),
                Some(_) | None => high = middle,
            }
        }
        Ok(low)
    }
}
