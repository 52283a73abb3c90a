//! Faults of starting, stopping and removing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, IdReuse, InstanceRecord, InstanceStatus, Message, MessageBody, Provider,
    ProviderError, PruneReport, PruneRequest, Release, SendOutcome, StartOutcome, TurnCommit,
};
use durable_core::{AttributeValue, Attributes, ExecutionId, Failure, InstanceId, MessageId};

use super::{fault, locked};

fault! {
    /// Counts executions from 1 after every purge.
    ReusesExecutionIds {}
    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        match self.store.start(instance, message, reuse).await? {
            StartOutcome::Started { seen, .. } => {
                let execution_id = ExecutionId::FIRST;
                Ok(StartOutcome::Started { execution_id, seen })
            }
            other => Ok(other),
        }
    }
}

fault! {
    /// Forgets no view.
    KeepsClearedViews {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let mut views = std::mem::take(&mut Arc::make_mut(&mut turn).update.views);
        views.retain(|update| {
            let change = turn.view_change(update);
            change.is_none_or(|change| change.value.is_some())
        });
        Arc::make_mut(&mut turn).update.views = views;
        self.store.commit(turn).await
    }
}

fault! {
    /// Adds attributes to those that are there.
    AddsAttributes {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let known = self.store.instance(&turn.lease.instance).await?;
        if let Some(known) = known
            && let Some(attributes) = &mut Arc::make_mut(&mut turn).update.attributes
        {
            for (name, value) in known.attributes.iter() {
                if attributes.get(name).is_none() {
                    attributes.set(name.clone(), value.clone());
                }
            }
        }
        self.store.commit(turn).await
    }
}

fault! {
    /// Keeps no attribute of a start.
    StartsWithoutAttributes {}
    async fn start(
        &self,
        instance: &InstanceId,
        mut message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        if let MessageBody::Start(start) = &mut message.body {
            start.attributes = Attributes::new();
        }
        self.store.start(instance, message, reuse).await
    }
}

fault! {
    /// Has one type for all numbers.
    MixesAttributeTypes {}
    async fn instance(&self, id: &InstanceId) -> Result<Option<InstanceRecord>, ProviderError> {
        let mut record = self.store.instance(id).await?;
        if let Some(record) = &mut record {
            let plain = record.attributes.iter().map(|(name, value)| {
                let value = match value {
                    AttributeValue::Time(time_ms) => AttributeValue::Integer(*time_ms),
                    other => other.clone(),
                };
                (name.clone(), value)
            });
            record.attributes = plain.collect();
        }
        Ok(record)
    }
}

fault! {
    /// Removes all past executions, whatever is to be kept.
    PrunesTooMuch {}
    async fn prune(&self, prune: &PruneRequest) -> Result<PruneReport, ProviderError> {
        let all = PruneRequest::new(prune.filter.clone(), prune.max);
        self.store.prune(&all).await
    }
}

fault! {
    /// Removes all past executions at once.
    PrunesWithoutBound {}
    async fn prune(&self, prune: &PruneRequest) -> Result<PruneReport, ProviderError> {
        let mut all = prune.clone();
        all.max = usize::MAX;
        self.store.prune(&all).await
    }
}

fault! {
    /// Says that an instance is suspended, and hands it out.
    HandsOutSuspended { suspended: BTreeMap<InstanceId, Failure> }
    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
    ) -> Result<SendOutcome, ProviderError> {
        locked(&self.suspended).insert(instance.clone(), reason);
        Ok(SendOutcome::Accepted)
    }

    async fn instance(
        &self,
        instance: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError> {
        let mut record = self.store.instance(instance).await?;
        let suspended = locked(&self.suspended).get(instance).cloned();
        if let (Some(record), Some(failure)) = (&mut record, suspended) {
            record.status = InstanceStatus::Suspended { failure };
        }
        Ok(record)
    }
}

fault! {
    /// Leaves a suspended instance to its holder.
    SuspendsWithoutFencing { suspended: BTreeSet<InstanceId> }
    async fn suspend(
        &self,
        instance: &InstanceId,
        _reason: Failure,
    ) -> Result<SendOutcome, ProviderError> {
        locked(&self.suspended).insert(instance.clone());
        Ok(SendOutcome::Accepted)
    }
}

fault! {
    /// Does not know a start again.
    ForgetsStarts { known: BTreeSet<MessageId> }
    async fn start(
        &self,
        instance: &InstanceId,
        mut message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        let is_new = locked(&self.known).insert(message.message_id.clone());
        if !is_new {
            message.message_id = format!("{} again", message.message_id).into();
        }
        self.store.start(instance, message, reuse).await
    }
}

fault! {
    /// Gives a released instance out at once.
    LosesReleaseDelays {}
    async fn release(
        &self,
        mut releases: Vec<Release>,
    ) -> Result<(), ProviderError> {
        for release in &mut releases {
            release.not_before_ms = None;
        }
        self.store.release(releases).await
    }
}

fault! {
    /// Takes an instance back and forgets why.
    ForgetsWhatBlocks {}
    async fn release(
        &self,
        mut releases: Vec<Release>,
    ) -> Result<(), ProviderError> {
        for release in &mut releases {
            release.blocked = None;
        }
        self.store.release(releases).await
    }
}

fault! {
    /// Resumes an instance only when a message comes.
    ResumesLazily {}
    async fn resume(
        &self,
        instance: &InstanceId,
    ) -> Result<SendOutcome, ProviderError> {
        // The delay makes it look as if it were not ready.
        let outcome = self.store.resume(instance).await?;
        let options = durable_core::provider::SessionOptions::default();
        let session = self.store.open_session(options).await?;
        let ready = self.store.fetch_instances(session, 1).await?;
        let leases = ready.instances.into_iter().map(|it| it.lease);
        let releases = leases.map(|lease| Release::new(lease).not_before(u64::MAX));
        self.store.release(releases.collect()).await?;
        Ok(outcome)
    }
}
