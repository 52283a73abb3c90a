//! How values are compared in replay; which fields are, is said by their roles in the
//! table of events.

use crate::command::{derived_instance, is_to_be_derived};
use crate::failure::Failure;
use crate::id::{EventId, ExecutionId};
use crate::text::InstanceId;

/// The execution whose events are compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) instance: &'a InstanceId,
    pub(crate) execution_id: ExecutionId,
}

/// Where a recorded event stands. The ids of children are derived from it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position<'a> {
    pub(super) owner: Owner<'a>,
    pub(super) event_id: EventId,
}

/// Whether the code started the instance that is recorded at this position.
pub(super) fn same_instance(at: Position<'_>, code: &InstanceId, recorded: &InstanceId) -> bool {
    if is_to_be_derived(code) {
        is_derived(at, recorded)
    } else {
        code == recorded
    }
}

/// Whether this is the id that was derived for the child of the event at this position.
pub(super) fn is_derived(at: Position<'_>, instance: &InstanceId) -> bool {
    *instance == derived_instance(at.owner.instance, at.owner.execution_id, at.event_id)
}

/// Equal in everything; details as JSON.
pub(super) fn same_failure(a: &Failure, b: &Failure) -> bool {
    let same_details = match (&a.details, &b.details) {
        (Some(a), Some(b)) => same_json(a, b),
        (None, None) => true,
        _ => false,
    };
    same_details && a.kind == b.kind && a.message == b.message && a.retryable == b.retryable
}

/// Equal text, or equal as JSON values (key order and white space do not count).
pub(super) fn same_json(a: &str, b: &str) -> bool {
    a == b
        || match (parse(a), parse(b)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        }
}

fn parse(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text).ok()
}
