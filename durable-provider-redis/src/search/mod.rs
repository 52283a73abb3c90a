//! Finding instances: the narrowest range of a sorted set, or a walk in the order of the list.
//!
//! The server counts a range without reading it, so the narrowest term is known for sure. If
//! it has few members they are all read and sorted; else the members of a set that is in the
//! order of the list are merged over the partitions, and a bounded number of them is looked at
//! for a page. Records are read after their members, and what they say then decides.

mod source;

use std::collections::VecDeque;

use durable_core::InstanceId;
use durable_core::filter::{
    Filter, IndexTerm, InstanceQuery, OrderBy, PagePosition, PageToken, TimeRange,
};
use durable_core::provider::{InstancePage, InstanceRecord, ProviderError};
use futures::future::try_join_all;

use crate::keys::Partition;
use crate::store::Store;
use source::{Candidate, Source};

/// How many members or records are read in one round.
const TOGETHER: usize = 256;
/// How many instances are looked at for a page when no term is narrow.
const MOST_LOOKED_AT: usize = 2_048;

impl Store {
    pub(crate) async fn instances(
        &self,
        query: &InstanceQuery,
        page: Option<&PageToken>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        query.check()?;
        let after = page.map(|page| page.position_in(query)).transpose()?;
        let max = max.max(1);
        if let Some(sources) = self.narrowest(&query.filter).await? {
            return self.sorted(query, &sources, after, max).await;
        }
        let sources = match query.order.by {
            OrderBy::Created => vec![Source::all_by_creation(query.filter.created())],
            OrderBy::Id => vec![Source::all_ids()],
            OrderBy::Changed => match query.filter.stopped_term() {
                Some(term) => Source::of(&term).unwrap_or_default(),
                None => {
                    let all = Source::all_by_creation(TimeRange::ALL);
                    return match self.count(&all).await? <= InstanceQuery::MAX_SORTED {
                        true => self.sorted(query, &[all], after, max).await,
                        false => Err(query.too_many_to_sort()),
                    };
                }
            },
        };
        self.walked(query, &sources, after, max).await
    }

    /// The sources with the fewest members that have all that a filter means, if these are at
    /// most as many as are sorted.
    async fn narrowest(&self, filter: &Filter) -> Result<Option<Vec<Source>>, ProviderError> {
        let mut counts: Vec<(IndexTerm, usize)> = Vec::new();
        for term in filter.index_terms() {
            if let Some(sources) = Source::of(&term) {
                let members = sources.iter().map(|source| self.count(source));
                let members = try_join_all(members).await?.into_iter().sum();
                counts.push((term, members));
            }
        }
        let count = |term: &IndexTerm| {
            let mut counts = counts.iter();
            counts
                .find(|(known, _)| known == term)
                .map(|(_, count)| *count)
        };
        let narrowest = filter.narrowest(&count);
        let narrow = narrowest.filter(|(count, _)| *count <= InstanceQuery::MAX_SORTED);
        let sources =
            |terms: Vec<IndexTerm>| terms.iter().filter_map(Source::of).flatten().collect();
        Ok(narrow.map(|(_, terms)| sources(terms)))
    }

    /// How many members a source has in all partitions.
    async fn count(&self, source: &Source) -> Result<usize, ProviderError> {
        let counts = self.partitions.iter().map(|partition| {
            let mut command = redis::cmd("ZLEXCOUNT");
            command.arg(source.key(partition));
            command.arg(&source.from).arg(&source.to);
            async move { self.read::<usize>(&command).await }
        });
        Ok(try_join_all(counts).await?.into_iter().sum())
    }

    /// Reads all that is meant, and sorts it.
    async fn sorted(
        &self,
        query: &InstanceQuery,
        sources: &[Source],
        after: Option<&PagePosition>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        let mut ids: Vec<String> = Vec::new();
        let mut cursors = self.cursors(query, sources, None);
        loop {
            fill(self, &mut cursors).await?;
            let members = cursors.iter_mut().flat_map(|cursor| cursor.ready.drain(..));
            ids.extend(members.map(|candidate| candidate.id));
            if cursors.iter().all(|cursor| cursor.is_done) {
                break;
            }
        }
        // Two sources may have the same instance.
        ids.sort_unstable();
        ids.dedup();
        let mut meant: Vec<InstanceRecord> = Vec::new();
        for together in ids.chunks(TOGETHER) {
            let records = self.records(together).await?.into_iter().flatten();
            let is_later = |record: &InstanceRecord| {
                let place = place_of(query, record);
                after.is_none_or(|after| {
                    let after = (after.time_ms, after.instance.as_str());
                    let ascending = (place.time_ms, place.id.as_str()).cmp(&after);
                    query.order.direction.apply(ascending).is_gt()
                })
            };
            meant.extend(records.filter(|record| query.filter.matches(record) && is_later(record)));
        }
        meant.sort_by(|one, other| query.order.compare(one, other));
        let has_more = meant.len() > max;
        meant.truncate(max);
        let last = meant.last().filter(|_| has_more);
        let mut page = InstancePage::default();
        page.next = last.map(|last| token(query, &place_of(query, last)));
        page.instances = meant;
        Ok(page)
    }

    /// Merges sources that are in the order of the list.
    async fn walked(
        &self,
        query: &InstanceQuery,
        sources: &[Source],
        after: Option<&PagePosition>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        let mut cursors = self.cursors(query, sources, after);
        let mut page = InstancePage::default();
        let mut last: Option<Candidate> = None;
        let mut looked_at = 0;
        loop {
            fill(self, &mut cursors).await?;
            let batch = next_batch(query, &mut cursors);
            if batch.is_empty() {
                return Ok(page);
            }
            let ids: Vec<String> = batch.iter().map(|candidate| candidate.id.clone()).collect();
            let records = self.records(&ids).await?;
            for (candidate, record) in batch.into_iter().zip(records) {
                let record = record.filter(|record| query.filter.matches(record));
                let is_beyond = page.instances.len() >= max && record.is_some();
                if is_beyond || looked_at >= MOST_LOOKED_AT {
                    page.next = last.as_ref().map(|last| token(query, last));
                    return Ok(page);
                }
                looked_at += 1;
                page.instances.extend(record);
                last = Some(candidate);
            }
        }
    }

    fn cursors<'a>(
        &'a self,
        query: &InstanceQuery,
        sources: &[Source],
        after: Option<&PagePosition>,
    ) -> Vec<Cursor<'a>> {
        let direction = query.order.direction;
        let mut cursors = Vec::new();
        for source in sources {
            let source = match after {
                Some(after) => source.clone().after(after, direction),
                None => source.clone(),
            };
            cursors.extend(self.partitions.iter().map(|partition| Cursor {
                partition,
                source: source.clone(),
                is_ascending: direction.is_ascending(),
                ready: VecDeque::new(),
                is_done: false,
            }));
        }
        cursors
    }

    /// The records of these instances, as far as they are there.
    async fn records(&self, ids: &[String]) -> Result<Vec<Option<InstanceRecord>>, ProviderError> {
        let records = ids.iter().map(|id| async move {
            let record = self.record(&InstanceId::from(id.as_str())).await?;
            Ok(record.map(|record| record.instance))
        });
        try_join_all(records).await
    }
}

/// How far a source was read in a partition.
struct Cursor<'a> {
    partition: &'a Partition,
    /// What was not read.
    source: Source,
    is_ascending: bool,
    ready: VecDeque<Candidate>,
    is_done: bool,
}

impl Cursor<'_> {
    async fn read(&mut self, store: &Store) -> Result<(), ProviderError> {
        let (from, to) = (&self.source.from, &self.source.to);
        let mut command = match self.is_ascending {
            true => redis::cmd("ZRANGEBYLEX"),
            false => redis::cmd("ZREVRANGEBYLEX"),
        };
        command.arg(self.source.key(self.partition));
        match self.is_ascending {
            true => command.arg(from).arg(to),
            false => command.arg(to).arg(from),
        };
        command.arg("LIMIT").arg(0).arg(TOGETHER);
        let members: Vec<Vec<u8>> = store.read(&command).await?;
        self.is_done = members.len() < TOGETHER;
        if let Some(last) = members.last() {
            let end = [b"(".as_slice(), last].concat();
            match self.is_ascending {
                true => self.source.from = end,
                false => self.source.to = end,
            }
        }
        let candidates = members.iter().map(|member| self.source.candidate(member));
        self.ready = candidates.flatten().collect();
        Ok(())
    }
}

/// Reads on where nothing is left of what was read.
async fn fill(store: &Store, cursors: &mut [Cursor<'_>]) -> Result<(), ProviderError> {
    let empty = cursors
        .iter_mut()
        .filter(|cursor| cursor.ready.is_empty() && !cursor.is_done);
    try_join_all(empty.map(|cursor| cursor.read(store))).await?;
    Ok(())
}

/// The next candidates in the order of the list, as far as they are known for sure.
fn next_batch(query: &InstanceQuery, cursors: &mut [Cursor<'_>]) -> Vec<Candidate> {
    let mut batch: Vec<Candidate> = Vec::new();
    while batch.len() < TOGETHER {
        // Beyond the end of what was read there may be more.
        if cursors
            .iter()
            .any(|cursor| cursor.ready.is_empty() && !cursor.is_done)
        {
            break;
        }
        let with_more = cursors.iter_mut().filter(|cursor| !cursor.ready.is_empty());
        let first = with_more.min_by(|one, other| {
            let ascending = one.ready.front().cmp(&other.ready.front());
            query.order.direction.apply(ascending)
        });
        match first.and_then(|cursor| cursor.ready.pop_front()) {
            Some(candidate) => batch.push(candidate),
            None => break,
        }
    }
    batch
}

/// The place of an instance in the list.
fn place_of(query: &InstanceQuery, record: &InstanceRecord) -> Candidate {
    let time_ms = match query.order.by {
        OrderBy::Created => record.created_at_ms,
        OrderBy::Changed => record.updated_at_ms,
        OrderBy::Id => 0,
    };
    Candidate {
        time_ms,
        id: record.instance.to_string(),
    }
}

fn token(query: &InstanceQuery, last: &Candidate) -> PageToken {
    let instance = InstanceId::from(last.id.as_str());
    PageToken::after(query, PagePosition::of_instance(last.time_ms, &instance))
}
