//! Faults of reading, and of keeping what was acknowledged.

use std::collections::HashMap;

use durable_core::filter::{
    Field, Filter, InstanceQuery, Node, Order, OrderBy, PagePosition, PageToken, Test,
};
use durable_core::provider::{
    HistoryPage, InstancePage, InstanceRecord, OutgoingMessage, Provider, ProviderError,
    PurgeReport, PurgeRequest, ReadyInstances, SendOutcome, SessionId, StatusKind,
};
use durable_core::{AttributeValue, Attributes, EventId, ExecutionId, InstanceId};
use durable_testkit::MemoryProvider;

use super::{fault, locked};

/// Everything that is meant, in one page.
async fn all_of(
    store: &MemoryProvider,
    query: &InstanceQuery,
) -> Result<Vec<InstanceRecord>, ProviderError> {
    Ok(store.instances(query, None, 10_000).await?.instances)
}

/// A page that is the last one.
fn last_page(instances: Vec<InstanceRecord>) -> InstancePage {
    let mut page = InstancePage::default();
    page.instances = instances;
    page
}

fault! {
    /// Leaves out the first instance of each page but the first.
    PagesSkip {}
    async fn instances(
        &self,
        query: &InstanceQuery,
        page: Option<&PageToken>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        let is_first = page.is_none();
        let mut page = self.store.instances(query, page, max).await?;
        if !is_first && page.instances.len() > 1 {
            page.instances.remove(0);
        }
        Ok(page)
    }
}

fault! {
    /// Begins each page with the last entry of the page before.
    PagesRepeat {}
    async fn history(
        &self,
        instance: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ProviderError> {
        let after = EventId::new(after.get().saturating_sub(1));
        self.store.history(instance, execution_id, after, max).await
    }
}

fault! {
    /// Lets the next page begin at a count, not after an instance.
    PagesByOffset { offset: usize }
    async fn instances(
        &self,
        query: &InstanceQuery,
        page: Option<&PageToken>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        let all = all_of(&self.store, query).await?;
        let mut offset = locked(&self.offset);
        if page.is_none() {
            *offset = 0;
        }
        let rest: Vec<_> = all.into_iter().skip(*offset).collect();
        *offset += max;
        let position = PagePosition::default();
        let next = (rest.len() > max).then(|| PageToken::after(query, position));
        let mut page = last_page(rest.into_iter().take(max).collect());
        page.next = next;
        Ok(page)
    }
}

/// Changes the tests of a filter.
fn changed(filter: &Filter, change: &dyn Fn(&Field, &Test) -> Filter) -> Filter {
    let each = |parts: &[Filter]| -> Vec<Filter> {
        parts.iter().map(|part| changed(part, change)).collect()
    };
    match filter.node() {
        Node::Test(field, test) => change(field, test),
        Node::Not(part) => !changed(part, change),
        Node::And(parts) => each(parts).into_iter().fold(Filter::all(), Filter::and),
        Node::Or(parts) => each(parts).into_iter().fold(Filter::nothing(), Filter::or),
        _ => filter.clone(),
    }
}

/// The instances that another filter means.
async fn listed_by(
    store: &MemoryProvider,
    query: &InstanceQuery,
    change: &(dyn Fn(&Field, &Test) -> Filter + Sync),
) -> Result<InstancePage, ProviderError> {
    let other = InstanceQuery::new(changed(&query.filter, change)).ordered(query.order);
    Ok(last_page(all_of(store, &other).await?))
}

fault! {
    /// Takes a prefix for a pattern.
    PrefixIsPattern {}
    async fn instances(
        &self,
        query: &InstanceQuery,
        _: Option<&PageToken>,
        _: usize,
    ) -> Result<InstancePage, ProviderError> {
        listed_by(&self.store, query, &|field, test| match test {
            Test::StartsWith(prefix) => {
                let literal = prefix.split(['%', '_', '*']).next().unwrap_or_default();
                field.clone().starts_with(literal)
            }
            _ => Filter::test(field.clone(), test.clone()),
        })
        .await
    }
}

fault! {
    /// Compares values of different types as texts.
    ValuesHaveNoType {}
    async fn instances(
        &self,
        query: &InstanceQuery,
        _: Option<&PageToken>,
        _: usize,
    ) -> Result<InstancePage, ProviderError> {
        listed_by(&self.store, query, &|field, test| {
            let plain = Filter::test(field.clone(), test.clone());
            match (field, test) {
                (Field::Attribute(_), Test::In(values)) => {
                    let texts = values.iter().filter_map(|value| match value {
                        AttributeValue::Integer(number) => Some(number.to_string()),
                        _ => None,
                    });
                    let numbers = values.iter().filter_map(|value| match value {
                        AttributeValue::Text(text) => text.parse::<i64>().ok(),
                        _ => None,
                    });
                    plain
                        .or(field.clone().is_in(texts))
                        .or(field.clone().is_in(numbers))
                }
                (Field::Attribute(_), Test::Exists) => field.clone().starts_with(""),
                _ => plain,
            }
        })
        .await
    }
}

fault! {
    /// What lacks a field passes no test, also if the test is negated.
    UnknownIsNeither {}
    async fn instances(
        &self,
        query: &InstanceQuery,
        _: Option<&PageToken>,
        _: usize,
    ) -> Result<InstancePage, ProviderError> {
        fn strict(filter: &Filter) -> Filter {
            match filter.node() {
                Node::Not(part) => match part.node() {
                    Node::Test(field, _) => filter.clone().and(field.clone().exists()),
                    _ => filter.clone(),
                },
                Node::And(parts) => parts.iter().map(strict).fold(Filter::all(), Filter::and),
                Node::Or(parts) => parts.iter().map(strict).fold(Filter::nothing(), Filter::or),
                _ => filter.clone(),
            }
        }
        let other = InstanceQuery::new(strict(&query.filter)).ordered(query.order);
        Ok(last_page(all_of(&self.store, &other).await?))
    }
}

fault! {
    /// Lists by creation what is to be listed by the last change.
    ChangeIsCreation {}
    async fn instances(
        &self,
        query: &InstanceQuery,
        _: Option<&PageToken>,
        _: usize,
    ) -> Result<InstancePage, ProviderError> {
        let mut order = query.order;
        if order.by == OrderBy::Changed {
            order.by = OrderBy::Created;
        }
        let other = query.clone().ordered(order);
        Ok(last_page(all_of(&self.store, &other).await?))
    }
}

fault! {
    /// Finds instances by the attributes that they were first seen with.
    FindsFirstAttributes { seen: HashMap<InstanceId, Attributes> }
    async fn instances(
        &self,
        query: &InstanceQuery,
        _: Option<&PageToken>,
        _: usize,
    ) -> Result<InstancePage, ProviderError> {
        let all = InstanceQuery::all().ordered(query.order);
        let all = all_of(&self.store, &all).await?;
        let mut seen = locked(&self.seen);
        let is_meant = |record: &InstanceRecord| {
            let mut record = record.clone();
            let first = seen.entry(record.instance.clone());
            record.attributes = first.or_insert(record.attributes).clone();
            query.filter.matches(&record)
        };
        Ok(last_page(all.into_iter().filter(is_meant).collect()))
    }
}

fault! {
    /// Takes the latest start for the creation.
    StartIsCreation {}
    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError> {
        let record = self.store.instance(instance).await?;
        Ok(record.map(|mut record| {
            if record.status.kind() == StatusKind::Pending {
                record.created_at_ms = record.updated_at_ms;
            }
            record
        }))
    }
}

fault! {
    /// Goes on with any page.
    TakesAnyPage {}
    async fn instances(
        &self,
        query: &InstanceQuery,
        page: Option<&PageToken>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        let page = match page {
            Some(page) => {
                let position = page.position_in(page.query())?;
                Some(PageToken::after(query, position.clone()))
            }
            None => None,
        };
        self.store.instances(query, page.as_ref(), max).await
    }
}

fault! {
    /// Takes a filter that it does not understand for all.
    UncheckedIsAll {}
    async fn instances(
        &self,
        query: &InstanceQuery,
        page: Option<&PageToken>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        match query.check() {
            Ok(()) => self.store.instances(query, page, max).await,
            Err(_) => self.store.instances(&InstanceQuery::all(), None, max).await,
        }
    }
}

fault! {
    /// Removes what changed last.
    PurgesTheNewest {}
    async fn purge(&self, purge: &PurgeRequest) -> Result<PurgeReport, ProviderError> {
        let ended = purge.filter.clone().and(Filter::ended());
        let query = InstanceQuery::new(ended).ordered(Order::LATEST_CHANGE_FIRST);
        let ended = all_of(&self.store, &query).await?;
        let mut report = PurgeReport::default();
        report.has_more = ended.len() > purge.max;
        for record in ended.iter().take(purge.max) {
            let only = PurgeRequest::new(Field::Id.is(record.instance.as_str()), 1);
            report.instances += self.store.purge(&only).await?.instances;
        }
        Ok(report)
    }
}

/// Acknowledges messages and stores them with the next fetch.
pub(crate) struct WritesLate {
    store: MemoryProvider,
    late: std::sync::Mutex<Vec<OutgoingMessage>>,
}

impl WritesLate {
    pub(crate) fn on(store: MemoryProvider) -> Self {
        let late = std::sync::Mutex::default();
        Self { store, late }
    }
}

#[async_trait::async_trait]
impl durable_core::provider::Layer for WritesLate {
    type Inner = MemoryProvider;

    fn inner(&self) -> &MemoryProvider {
        &self.store
    }

    async fn send(&self, message: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        locked(&self.late).push(message);
        Ok(SendOutcome::Accepted)
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let late = std::mem::take(&mut *locked(&self.late));
        for message in late {
            let _ = self.store.send(message).await?;
        }
        self.store.fetch_instances(session, max).await
    }
}
