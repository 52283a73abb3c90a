//! Faults in what is kept and shown of views.

use std::collections::BTreeMap;
use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, Provider, ProviderError, SourceEvent, TurnCommit, ViewPage, ViewRecord,
};
use durable_core::{ExecutionId, InstanceId, Name};

use super::{fault, locked};

type Read = Result<Option<ViewRecord>, ProviderError>;
type Page = Result<ViewPage, ProviderError>;

fault! {
    /// Shows only what the current execution published.
    ForgetsTheNext {}
    async fn views(&self, id: &InstanceId, after: Option<&Name>, max: usize) -> Page {
        let record = self.store.instance(id).await?;
        let current = record.map_or(ExecutionId::FIRST, |record| record.execution_id);
        let mut page = self.store.views(id, after, max).await?;
        page.views.retain(|view| view.source.execution_id == current);
        Ok(page)
    }
}

fault! {
    /// Remembers views by the id of their instance, whatever becomes of that.
    KeepsViewsForAnother { known: BTreeMap<InstanceId, ViewPage> }
    async fn views(&self, id: &InstanceId, after: Option<&Name>, max: usize) -> Page {
        let page = self.store.views(id, after, max).await?;
        Ok(locked(&self.known).get(id).cloned().unwrap_or(page))
    }
    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let id = turn.lease.instance.clone();
        let outcome = self.store.commit(turn).await?;
        let page = self.store.views(&id, None, 100).await?;
        locked(&self.known).insert(id, page);
        Ok(outcome)
    }
}

fault! {
    /// Takes every value for the first.
    CountsNoChanges {}
    async fn view(&self, id: &InstanceId, name: &Name) -> Read {
        let mut view = self.store.view(id, name).await?;
        if let Some(view) = &mut view {
            view.source = SourceEvent::new(ExecutionId::FIRST, durable_core::EventId::FIRST);
        }
        Ok(view)
    }
}

fault! {
    /// Begins every page with the view that the page before ended with.
    PagesViewsAgain {}
    async fn views(&self, id: &InstanceId, after: Option<&Name>, max: usize) -> Page {
        let all = self.store.views(id, None, 100).await?.views;
        let later = all.into_iter().filter(|view| after.is_none_or(|after| view.name >= *after));
        Ok(ViewPage::first(later.collect(), after, max))
    }
}

fault! {
    /// Knows no capital letters.
    MixesNames {}
    async fn view(&self, id: &InstanceId, name: &Name) -> Read {
        let name = name.to_lowercase().into();
        self.store.view(id, &name).await
    }
}

fault! {
    /// Keeps the first view that a turn changes, and no other.
    PublishesHalf {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        Arc::make_mut(&mut turn).update.views.truncate(1);
        self.store.commit(turn).await
    }
}
