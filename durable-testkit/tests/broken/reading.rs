//! Faults of reading, and of keeping what was acknowledged.

use durable_core::provider::{
    HistoryPage, InstanceFilter, InstancePage, OutgoingMessage, Provider, ProviderError,
    ReadyInstances, SendOutcome, SessionId,
};
use durable_core::{EventId, ExecutionId, InstanceId};
use durable_testkit::MemoryProvider;

use super::{fault, locked};

fault! {
    /// Leaves out the first instance of each page but the first.
    PagesSkip {}
    async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        let mut page = self.store.instances(filter, after, max + 1).await?;
        if after.is_some() && page.instances.len() > 1 {
            page.instances.remove(0);
        }
        page.instances.truncate(max);
        let last = page.instances.last().map(|record| record.instance.clone());
        page.next = page.next.and(last);
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
    /// Lets the next page begin at a count, not after an id.
    PagesByOffset { offset: usize }
    async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        let all = self.store.instances(filter, None, 10_000).await?.instances;
        let mut offset = locked(&self.offset);
        if after.is_none() {
            *offset = 0;
        }
        let rest: Vec<_> = all.into_iter().skip(*offset).collect();
        *offset += max;
        let instances: Vec<_> = rest.iter().take(max).cloned().collect();
        let last = instances.last().map(|record| record.instance.clone());
        let next = last.filter(|_| rest.len() > max);
        let mut page = InstancePage::default();
        (page.instances, page.next) = (instances, next);
        Ok(page)
    }
}

fault! {
    /// Takes a prefix for a pattern.
    PrefixIsPattern {}
    async fn instances(
        &self,
        filter: &InstanceFilter,
        after: Option<&InstanceId>,
        max: usize,
    ) -> Result<InstancePage, ProviderError> {
        let mut filter = filter.clone();
        if let Some(prefix) = &mut filter.id_prefix {
            let literal = prefix.split(['%', '_', '*']).next().unwrap_or_default();
            *prefix = literal.into();
        }
        self.store.instances(&filter, after, max).await
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
