//! Which code an instance waits for and no node of the environment has.

use durable_core::provider::{Provider, RequiredCode, SessionRecord, WorkItem};
use durable_core::{Failure, FailureKind, InstanceId};

use crate::{MemoryProvider, WorkSnapshot};

/// The code that keeps an instance from going on. `None` while there is none, and between
/// the death of a node and the start of the next one.
pub(super) async fn missing_code(store: &MemoryProvider, instance: &InstanceId) -> Option<Failure> {
    let nodes = store.sessions().await.ok()?;
    if nodes.is_empty() {
        return None;
    }
    let snapshot = store.snapshot();
    let record = &snapshot.instances.get(instance)?.record;
    let required = RequiredCode::of(record);
    if !nodes.iter().any(|node| node.options.can_run(&required)) {
        return Some(not_served(&format!("the orchestration {required}")));
    }
    let is_open = |work: &&WorkSnapshot| work.item.key.instance == *instance;
    let mut open = snapshot.work.values().filter(is_open);
    let unserved = open.find(|work| !nodes.iter().any(|node| serves(node, &work.item)))?;
    let name = &unserved.item.name;
    Some(not_served(&match &unserved.item.options.queue {
        Some(queue) => format!("the activity `{name}` in the queue `{queue}`"),
        None => format!("the activity `{name}`"),
    }))
}

/// Whether a node runs this work.
fn serves(node: &SessionRecord, item: &WorkItem) -> bool {
    let queue = item.options.queue.as_ref();
    node.options.has_activity(&item.name) && node.options.has_queue(queue)
}

fn not_served(what: &str) -> Failure {
    let message = format!("no node of the environment has {what}: register it");
    Failure::new(FailureKind::NotRegistered, message)
}
