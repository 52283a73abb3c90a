//! Which parts of a filter an index can answer, and which of them to begin with. Stores share
//! this; how many instances a term has, each store says itself.

use alloc::vec;
use alloc::vec::Vec;

use super::{Field, Filter, Node, StatusSet, Test, TimeRange};

/// What an index may have: instances among which are all that a part of a filter means.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum IndexTerm {
    /// Those of which this field passes this test. Times have terms of their own.
    Test(Field, Test),
    /// Suspended and ended instances with these statuses that last changed at these times.
    Stopped(StatusSet, TimeRange),
    /// Those that were created at these times.
    Created(TimeRange),
}

impl Filter {
    /// All terms in it that an index may have.
    pub fn index_terms(&self) -> Vec<IndexTerm> {
        let mut terms = self.own_terms();
        if let Node::And(parts) | Node::Or(parts) = &self.node {
            terms.extend(parts.iter().flat_map(Self::index_terms));
        }
        terms.dedup();
        terms
    }

    /// The terms each of which has all that the filter means.
    fn own_terms(&self) -> Vec<IndexTerm> {
        let mut terms = Vec::new();
        match &self.node {
            Node::Test(Field::Created | Field::Changed, _) => {}
            Node::Test(field, test) => terms.push(IndexTerm::Test(field.clone(), test.clone())),
            Node::All
            | Node::Nothing
            | Node::Status(_)
            | Node::Not(_)
            | Node::And(_)
            | Node::Or(_) => {}
        }
        terms.extend(self.stopped_term());
        let created = self.created();
        if created != TimeRange::ALL {
            terms.push(IndexTerm::Created(created));
        }
        terms
    }

    /// The term of suspended and ended instances, if it means only such.
    pub fn stopped_term(&self) -> Option<IndexTerm> {
        let statuses = self.statuses();
        let is_stopped = statuses.is_within(StatusSet::stopped());
        is_stopped.then(|| IndexTerm::Stopped(statuses, self.changed()))
    }

    /// The terms with the fewest instances that together have all that the filter means, and
    /// how many these are at most. `count` says how many a term has; `None` if no index has
    /// it, or if these are too many.
    ///
    /// ```
    /// use durable_core::filter::{Filter, IndexTerm};
    ///
    /// let filter = Filter::parse("name = order and (customer = c-17 or customer = c-18)", 0)?;
    /// let count = |term: &IndexTerm| match term {
    ///     IndexTerm::Test(field, _) => Some(if field.to_string() == "name" { 900 } else { 3 }),
    ///     IndexTerm::Stopped(..) | IndexTerm::Created(_) => None,
    /// };
    /// let (count, terms) = filter.narrowest(&count).unwrap();
    /// assert_eq!((count, terms.len()), (6, 2));
    /// # Ok::<(), durable_core::filter::FilterError>(())
    /// ```
    pub fn narrowest(
        &self,
        count: &dyn Fn(&IndexTerm) -> Option<usize>,
    ) -> Option<(usize, Vec<IndexTerm>)> {
        let own = self.own_terms().into_iter();
        let counted = own.filter_map(|term| Some((count(&term)?, vec![term])));
        let own = counted.min_by_key(|(count, _)| *count);
        let joined = match &self.node {
            Node::Nothing => Some((0, Vec::new())),
            Node::And(parts) => {
                let parts = parts.iter().filter_map(|part| part.narrowest(count));
                parts.min_by_key(|(count, _)| *count)
            }
            Node::Or(parts) => {
                let parts = parts.iter().map(|part| part.narrowest(count));
                parts.collect::<Option<Vec<_>>>().map(|parts| {
                    let count = parts.iter().map(|(count, _)| count).sum();
                    (
                        count,
                        parts.into_iter().flat_map(|(_, terms)| terms).collect(),
                    )
                })
            }
            Node::All | Node::Status(_) | Node::Test(..) | Node::Not(_) => None,
        };
        own.into_iter()
            .chain(joined)
            .min_by_key(|(count, _)| *count)
    }
}
