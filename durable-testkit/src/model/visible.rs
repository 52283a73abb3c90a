//! Everything that can be read from a provider, to be compared after every call.

use durable_core::provider::{
    ExecutionRecord, InboxSeq, InstanceFilter, InstanceRecord, Message, OpenActivity, OpenTimer,
    PoisonedWork, Provider, ProviderError, SessionId, SessionOptions, StreamPage, ViewRecord,
    WorkState,
};
use durable_core::{EventId, HistoryEntry, InstanceId};

use super::script::ScriptInstance;
use crate::conformance::StoreClock;

/// A time that every store can keep exactly.
const LAST_MOMENT_MS: u64 = (1 << 53) - 1;

/// What a client sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VisibleState {
    /// The store's time, if the script moves its clock.
    now_ms: Option<u64>,
    listed: Vec<InstanceId>,
    instances: Vec<ObservedInstance>,
    poisoned: Vec<PoisonedWork>,
    /// What the nodes that live said of themselves, in no order: ids are the store's own.
    nodes: Vec<SessionOptions>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ObservedInstance {
    record: Option<InstanceRecord>,
    executions: Vec<ExecutionRecord>,
    histories: Vec<Vec<HistoryEntry>>,
    inbox: Vec<Message>,
    open: Vec<OpenActivity>,
    timers: Vec<OpenTimer>,
    views: Vec<ViewRecord>,
    items: StreamPage,
}

impl VisibleState {
    pub(super) async fn read(
        provider: &dyn Provider,
        clock: StoreClock,
    ) -> Result<Self, ProviderError> {
        // What late sessions held is free from now on, in every store.
        let _ = provider.fire_timers(0).await?;
        let all = InstanceFilter::all();
        let page = provider.instances(&all, None, 1_000).await?;
        let listed = page.instances.into_iter().map(|record| record.instance);
        let mut instances = Vec::new();
        for instance in ScriptInstance::ALL {
            instances.push(ObservedInstance::read(provider, &instance.id(), clock).await?);
        }
        let sessions = provider.sessions().await?.into_iter();
        let mut nodes: Vec<_> = sessions.map(|record| record.options).collect();
        nodes.sort_by(|one, other| one.node.cmp(&other.node));
        Ok(Self {
            nodes,
            now_ms: clock.is_virtual().then(|| provider.now_ms()),
            listed: listed.collect(),
            instances,
            poisoned: provider.poisoned(None, 10_000).await?.work,
        })
    }
}

impl ObservedInstance {
    async fn read(
        provider: &dyn Provider,
        id: &InstanceId,
        clock: StoreClock,
    ) -> Result<Self, ProviderError> {
        let mut record = provider.instance(id).await?;
        if let (Some(record), false) = (&mut record, clock.is_virtual()) {
            // The clocks of two stores differ.
            (record.created_at_ms, record.updated_at_ms) = (0, 0);
        }
        let executions = provider.executions(id).await?;
        let mut histories = Vec::new();
        for execution in &executions {
            let from = EventId::UNASSIGNED;
            let page = provider
                .history(id, execution.execution_id, from, 10_000)
                .await?;
            histories.push(page.entries);
        }
        // Places are the store's own.
        let page = provider.inbox(id, InboxSeq::default(), 10_000).await?;
        let inbox = page.messages.into_iter().map(|given| given.message);
        let page = provider.open_work(id, None, 10_000).await?;
        let mut open = page.activities;
        for activity in &mut open {
            // The ids of sessions are the store's own, and the clocks of two stores differ.
            match &mut activity.state {
                WorkState::Held { session } => *session = SessionId(0),
                WorkState::Queued { ready_at_ms } if clock.is_virtual() => {
                    // No clock ever shows a later time.
                    *ready_at_ms = (*ready_at_ms).min(LAST_MOMENT_MS);
                }
                WorkState::Queued { ready_at_ms } => *ready_at_ms = 0,
            }
        }
        let mut items = provider.stream(id, &"items".into(), 0, 1_000).await?;
        if !clock.is_virtual() {
            // The clocks of two stores differ.
            items.items.iter_mut().for_each(|item| item.added_at_ms = 0);
        }
        Ok(Self {
            record,
            executions,
            histories,
            inbox: inbox.collect(),
            open,
            timers: page.timers,
            views: provider.views(id, None, 10_000).await?.views,
            items,
        })
    }
}
