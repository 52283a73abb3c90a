//! The nodes that live on a store, and what none of them can run.

use durable_core::provider::{
    InstanceRecord, InstanceStatus, OpenActivity, Provider, ProviderError, RequiredCode,
    SessionRecord, WorkState,
};
use durable_core::{Failure, FailureKind};

use super::{Client, ClientError};

impl Client {
    /// The nodes that live on the store, by session: what each said of itself, and until
    /// when it counts as living without another heartbeat.
    ///
    /// ```
    /// # use durable_runtime::{Client, ClientError};
    /// async fn activities_that_can_run(client: &Client) -> Result<Vec<String>, ClientError> {
    ///     let nodes = client.nodes().await?;
    ///     let code = nodes.iter().filter_map(|node| node.options.code.as_ref());
    ///     let names = code.flat_map(|code| code.activities.iter());
    ///     Ok(names.map(ToString::to_string).collect())
    /// }
    /// # let _ = activities_that_can_run;
    /// ```
    ///
    /// # Errors
    ///
    /// [`ClientError::Provider`] if the store did not answer.
    pub async fn nodes(&self) -> Result<Vec<SessionRecord>, ClientError> {
        Ok(self.provider().sessions().await?)
    }
}

/// Notes in the record of an instance that is to run whether no node that lives has its
/// code. What the store says of it stays.
pub(super) async fn note_missing_code(
    store: &dyn Provider,
    record: &mut InstanceRecord,
) -> Result<(), ProviderError> {
    if is_waiting(record) {
        let nodes = store.sessions().await?;
        note_code_none_has(&nodes, record);
    }
    Ok(())
}

/// The same for a list. While no node lives at all, nothing is noted: that is no property
/// of some instances.
pub(super) async fn note_missing_code_of_list(
    store: &dyn Provider,
    records: &mut [InstanceRecord],
) -> Result<(), ProviderError> {
    if !records.iter().any(is_waiting) {
        return Ok(());
    }
    let nodes = store.sessions().await?;
    if !nodes.is_empty() {
        let waiting = records.iter_mut().filter(|record| is_waiting(record));
        waiting.for_each(|record| note_code_none_has(&nodes, record));
    }
    Ok(())
}

fn note_code_none_has(nodes: &[SessionRecord], record: &mut InstanceRecord) {
    let required = RequiredCode::of(record);
    if !nodes.iter().any(|node| node.options.can_run(&required)) {
        record.blocked = Some(not_served(&format!("the orchestration {required}")));
    }
}

/// Whether an instance is to run, and nothing is known to keep it from doing so.
pub(super) fn is_waiting(record: &InstanceRecord) -> bool {
    let is_to_run = match record.status {
        InstanceStatus::Pending | InstanceStatus::Running => true,
        InstanceStatus::Suspended { .. }
        | InstanceStatus::Completed { .. }
        | InstanceStatus::Failed { .. }
        | InstanceStatus::Terminated { .. } => false,
    };
    is_to_run && record.blocked.is_none()
}

/// Why an open activity call is not run: no node that lives has the activity, or takes work
/// from its queue. One that a session holds is run.
pub(super) fn unserved(nodes: &[SessionRecord], open: &OpenActivity) -> Option<Failure> {
    match open.state {
        WorkState::Queued { .. } if !open.is_cancelled => {}
        WorkState::Queued { .. } | WorkState::Held { .. } => return None,
    }
    let name = &open.item.name;
    let queue = open.item.options.queue.as_ref();
    let has_activity = |node: &&SessionRecord| node.options.has_activity(name);
    let mut able = nodes.iter().filter(has_activity).peekable();
    if able.peek().is_none() {
        return Some(not_served(&format!("the activity `{name}`")));
    }
    if able.any(|node| node.options.has_queue(queue)) {
        return None;
    }
    let queue = queue.map_or_else(
        || String::from("the default queue"),
        |queue| format!("the queue `{queue}`"),
    );
    let message = format!(
        "no node that lives and has the activity `{name}` takes work from {queue}: start one that \
         does"
    );
    Some(Failure::new(FailureKind::NotRegistered, message))
}

/// No node that lives has this code.
fn not_served(what: &str) -> Failure {
    let message = format!("no node that lives has {what}: start one that does");
    Failure::new(FailureKind::NotRegistered, message)
}
