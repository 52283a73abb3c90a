//! Which suspended children an instance waits for.

use std::collections::BTreeMap;

use durable_core::provider::{InstanceRecord, InstanceStatus};
use durable_core::{Event, EventId, Failure, FailureKind, InstanceId, Parent};

use super::{ClientError, InstanceHandle};

/// How many entries of a history are read at once.
const PAGE: usize = 500;

/// How many children a record is made from.
const CHILDREN_OF_A_RECORD: usize = 100;

/// A suspended instance that another one waits for: its child, or a child of its child.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SuspendedChild {
    /// The instance.
    pub instance: InstanceId,
    /// The event of its parent that started it.
    pub parent: Parent,
    /// Why it is suspended.
    pub failure: Failure,
}

impl<O> InstanceHandle<O> {
    /// The suspended instances that it waits for: its children, and their children. While
    /// there are some it may go on by another branch only, until a client resumes them.
    ///
    /// A suspension sends no message to the parent: this is read from the records of the
    /// children that are open in the history of the current execution, and from the histories
    /// of those that run.
    ///
    /// # Errors
    ///
    /// As [`record`](Self::record).
    pub async fn suspended_children(&self) -> Result<Vec<SuspendedChild>, ClientError> {
        let mut suspended = Vec::new();
        let mut running = vec![self.stored_record().await?];
        while let Some(record) = running.pop() {
            for (event_id, instance) in self.open_children(&record).await? {
                let parent = Parent::new(record.instance.clone(), record.execution_id, event_id);
                let Some(child) = self.child(&parent, instance).await? else {
                    continue;
                };
                match child.status {
                    InstanceStatus::Suspended { failure } => suspended.push(SuspendedChild {
                        instance: child.instance,
                        parent,
                        failure,
                    }),
                    InstanceStatus::Running => running.push(child),
                    InstanceStatus::Pending
                    | InstanceStatus::Completed { .. }
                    | InstanceStatus::Failed { .. }
                    | InstanceStatus::Terminated { .. } => {}
                }
            }
        }
        suspended.sort_by(|one, other| one.instance.cmp(&other.instance));
        Ok(suspended)
    }

    /// What its record says if a child that it waits for is suspended.
    pub(super) async fn suspended_child(
        &self,
        record: &InstanceRecord,
    ) -> Result<Option<Failure>, ClientError> {
        let open = self.open_children(record).await?.into_iter();
        for (event_id, instance) in open.take(CHILDREN_OF_A_RECORD) {
            let parent = Parent::new(record.instance.clone(), record.execution_id, event_id);
            let child = self.child(&parent, instance).await?;
            if let Some(child) = child
                && let InstanceStatus::Suspended { failure } = child.status
            {
                let message = format!(
                    "its child `{}` is suspended: {failure}: resume that one",
                    child.instance
                );
                return Ok(Some(Failure::new(FailureKind::Suspended, message)));
            }
        }
        Ok(None)
    }

    /// The record of a child; none while its start is on its way, or if the id is that of
    /// another instance.
    async fn child(
        &self,
        parent: &Parent,
        instance: InstanceId,
    ) -> Result<Option<InstanceRecord>, ClientError> {
        let child = Self::new(self.client.clone(), instance);
        match child.stored_record().await {
            Ok(child) => Ok(Some(child).filter(|child| child.parent.as_ref() == Some(parent))),
            Err(ClientError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The children of the current execution that have not finished, by the events that
    /// started them.
    async fn open_children(
        &self,
        record: &InstanceRecord,
    ) -> Result<BTreeMap<EventId, InstanceId>, ClientError> {
        let mut open = BTreeMap::new();
        let mut after = EventId::UNASSIGNED;
        loop {
            // What a payload codec changes is not looked at.
            let history =
                self.client
                    .provider()
                    .history(&record.instance, record.execution_id, after, PAGE);
            let page = history.await?;
            for entry in &page.entries {
                after = entry.event_id();
                if let Event::SubOrchestrationScheduled { instance, .. } = &entry.event {
                    open.insert(after, instance.clone());
                } else if let Some(source) = entry.event.source_event_id() {
                    open.remove(&source);
                } else if entry.event.is_terminal() {
                    open.clear();
                }
            }
            if !page.has_more {
                return Ok(open);
            }
        }
    }
}
