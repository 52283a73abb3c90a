//! What replay compares: the table of which fields of a recorded output must
//! equal what the code emits now, and which may differ.

use crate::command::{derived_instance, is_to_be_derived, to_be_derived};
use crate::event::Event;
use crate::failure::Failure;
use crate::id::{EventId, ExecutionId};
use crate::text::InstanceId;
use crate::violation::Difference;

/// Whose history is compared: needed to recognise derived child ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) instance: &'a InstanceId,
    pub(super) execution_id: ExecutionId,
}

/// Whether two outputs are the same command, by the fields that are compared.
///
/// The recorded value wins where a field is not compared: a timer's time, a
/// state's value, a message's data, an operation's result, a status.
pub(super) fn same_command(
    owner: Owner<'_>,
    code: &Event,
    recorded: &Event,
) -> Result<(), Difference> {
    use Difference as D;
    match (code, recorded) {
        (
            Event::ActivityScheduled {
                name: a, input: i, ..
            },
            Event::ActivityScheduled {
                name: b, input: j, ..
            },
        ) => check(a == b, D::Name).and_then(|()| check(same_json(i, j), D::Input)),
        (
            Event::SubOrchestrationScheduled {
                name: a,
                instance: x,
                input: i,
                ..
            },
            Event::SubOrchestrationScheduled {
                event_id,
                name: b,
                instance: y,
                input: j,
                ..
            },
        )
        | (
            Event::OrchestrationChained {
                name: a,
                instance: x,
                input: i,
                ..
            },
            Event::OrchestrationChained {
                event_id,
                name: b,
                instance: y,
                input: j,
                ..
            },
        ) => check(a == b, D::Name)
            .and_then(|()| check(same_instance(owner, x, y, *event_id), D::Instance))
            .and_then(|()| check(same_json(i, j), D::Input)),
        (Event::ExternalSubscribed { name: a, .. }, Event::ExternalSubscribed { name: b, .. })
        | (Event::OperationCompleted { name: a, .. }, Event::OperationCompleted { name: b, .. }) => {
            check(a == b, D::Name)
        }
        (Event::StateSet { key: a, .. }, Event::StateSet { key: b, .. })
        | (Event::StateCleared { key: a, .. }, Event::StateCleared { key: b, .. }) => {
            check(a == b, D::Key)
        }
        (
            Event::PromiseCreated {
                name: a, number: m, ..
            },
            Event::PromiseCreated {
                name: b, number: n, ..
            },
        ) => check(a == b, D::Name).and_then(|()| check(m == n, D::Number)),
        (
            Event::ExternalEventSent {
                target: t, name: a, ..
            },
            Event::ExternalEventSent {
                target: u, name: b, ..
            },
        ) => check(t == u, D::Target).and_then(|()| check(a == b, D::Name)),
        (
            Event::PromiseResolutionSent { target: t, .. },
            Event::PromiseResolutionSent { target: u, .. },
        ) => check(t == u, D::Target),
        (Event::PatchMarked { patch_id: a, .. }, Event::PatchMarked { patch_id: b, .. }) => {
            check(a == b, D::Patch)
        }
        (Event::TimerCreated { .. }, Event::TimerCreated { .. })
        | (Event::CustomStatusSet { .. }, Event::CustomStatusSet { .. }) => Ok(()),
        _ if code.kind() != recorded.kind() => Err(D::Kind),
        _ if code.is_terminal() => check(same_ending(code, recorded), D::Ending),
        _ => check(
            code.source_event_id() == recorded.source_event_id(),
            D::Source,
        ),
    }
}

/// A recorded command as the code emitted it, before it had a position.
pub(super) fn as_emitted(owner: Owner<'_>, recorded: &Event) -> Event {
    let mut event = recorded.clone();
    if let Event::SubOrchestrationScheduled { instance, .. }
    | Event::OrchestrationChained { instance, .. } = &mut event
        && is_derived(owner, instance, recorded.event_id())
    {
        *instance = to_be_derived();
    }
    event.set_event_id(EventId::UNASSIGNED);
    event
}

/// Whether two outputs are the same command and alike also in what replay does
/// not compare, as far as that tells commands of one block apart.
pub(super) fn is_exact(owner: Owner<'_>, code: &Event, recorded: &Event) -> bool {
    let same_rest = match (code, recorded) {
        (
            Event::ActivityScheduled {
                name: a, input: i, ..
            },
            Event::ActivityScheduled {
                name: b, input: j, ..
            },
        ) => return a == b && i == j,
        (
            Event::SubOrchestrationScheduled { input: a, .. },
            Event::SubOrchestrationScheduled { input: b, .. },
        )
        | (
            Event::OrchestrationChained { input: a, .. },
            Event::OrchestrationChained { input: b, .. },
        )
        | (Event::StateSet { value: a, .. }, Event::StateSet { value: b, .. })
        | (Event::CustomStatusSet { status: a, .. }, Event::CustomStatusSet { status: b, .. })
        | (Event::ExternalEventSent { data: a, .. }, Event::ExternalEventSent { data: b, .. }) => {
            a == b
        }
        (Event::TimerCreated { fire_at_ms: a, .. }, Event::TimerCreated { fire_at_ms: b, .. }) => {
            a == b
        }
        _ => true,
    };
    same_rest && same_command(owner, code, recorded).is_ok()
}

fn check(same: bool, difference: Difference) -> Result<(), Difference> {
    if same { Ok(()) } else { Err(difference) }
}

fn same_instance(owner: Owner<'_>, code: &InstanceId, recorded: &InstanceId, at: EventId) -> bool {
    if is_to_be_derived(code) {
        is_derived(owner, recorded, at)
    } else {
        code == recorded
    }
}

/// Whether this is the id that was derived for the child of this event.
pub(super) fn is_derived(owner: Owner<'_>, instance: &InstanceId, at: EventId) -> bool {
    *instance == derived_instance(owner.instance, owner.execution_id, at)
}

fn same_ending(code: &Event, recorded: &Event) -> bool {
    match (code, recorded) {
        (
            Event::OrchestrationCompleted { output: a, .. },
            Event::OrchestrationCompleted { output: b, .. },
        ) => same_json(a, b),
        (
            Event::OrchestrationFailed { failure: a, .. },
            Event::OrchestrationFailed { failure: b, .. },
        ) => same_failure(a, b),
        (
            Event::OrchestrationContinuedAsNew {
                input: a,
                version: v,
                ..
            },
            Event::OrchestrationContinuedAsNew {
                input: b,
                version: w,
                ..
            },
        ) => same_json(a, b) && v == w,
        _ => false,
    }
}

fn same_failure(a: &Failure, b: &Failure) -> bool {
    let same_details = match (&a.details, &b.details) {
        (Some(a), Some(b)) => same_json(a, b),
        (None, None) => true,
        _ => false,
    };
    same_details && a.kind == b.kind && a.message == b.message && a.retryable == b.retryable
}

/// Equal text, or equal as JSON values (key order and white space do not count).
fn same_json(a: &str, b: &str) -> bool {
    a == b
        || match (parse(a), parse(b)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        }
}

fn parse(text: &str) -> Option<serde_json::Value> {
    serde_json::from_str(text).ok()
}
