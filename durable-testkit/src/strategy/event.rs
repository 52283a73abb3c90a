//! Entries, events of every kind, and their parts. These strategies know the types
//! only: whether events make sense in their order is no concern of theirs.

use durable_core::{
    ActivityOptions, Carried, Event, EventId, EventKind, ExecutionId, Failure, FailureKind,
    HistoryEntry, Parent, Payload, PromiseToken, RetryPolicy, UnreadEvent,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::{BoxedStrategy, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::strategy::Union;

use super::text::any_text;

/// Defines the strategy of one kind of event from those of its fields.
macro_rules! event {
    ($kind:ident { $( $field:ident: $strategy:expr ),* $(,)? }) => {
        (any_position(), $( $strategy, )*)
            .prop_map(|(event_id, $( $field, )*)| Event::$kind { event_id, $( $field, )* })
            .boxed()
    };
}

/// Any entry.
///
/// ```
/// use durable_testkit::strategy::any_entry;
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let mut runner = TestRunner::deterministic();
/// let entry = any_entry().new_tree(&mut runner).unwrap().current();
/// assert_eq!(entry.event_id(), entry.event.event_id());
/// ```
pub fn any_entry() -> impl Strategy<Value = HistoryEntry> {
    (any_number(), any_event()).prop_map(|(recorded_at_ms, event)| HistoryEntry {
        recorded_at_ms,
        event,
    })
}

/// Any event of any kind.
///
/// ```
/// use durable_testkit::strategy::any_event;
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let mut runner = TestRunner::deterministic();
/// let event = any_event().new_tree(&mut runner).unwrap().current();
/// assert!(event.is_input() || event.is_output() || event.is_terminal());
/// ```
pub fn any_event() -> impl Strategy<Value = Event> {
    Union::new(EventKind::ALL.iter().copied().filter_map(any_event_of))
}

/// Any event of this kind; `None` for a kind that is newer than this crate.
///
/// ```
/// use durable_core::EventKind;
/// use durable_testkit::strategy::any_event_of;
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let mut runner = TestRunner::deterministic();
/// let timers = any_event_of(EventKind::TimerFired).unwrap();
/// let timer = timers.new_tree(&mut runner).unwrap().current();
/// assert_eq!(timer.kind(), EventKind::TimerFired);
/// ```
pub fn any_event_of(kind: EventKind) -> Option<BoxedStrategy<Event>> {
    Some(match kind {
        EventKind::OrchestrationStarted => event!(OrchestrationStarted {
            name: text(),
            version: text(),
            input: text(),
            parent: of(any_parent()),
            carried: any_carried(),
        }),
        EventKind::ActivityScheduled => event!(ActivityScheduled {
            name: text(),
            input: text(),
            execution_id: any_execution(),
            options: any_options(),
        }),
        EventKind::ActivityCompleted => event!(ActivityCompleted {
            source_event_id: any_source(),
            result: text(),
        }),
        EventKind::ActivityFailed => event!(ActivityFailed {
            source_event_id: any_source(),
            failure: any_failure(),
        }),
        EventKind::ActivityCancelRequested => event!(ActivityCancelRequested {
            source_event_id: any_source(),
        }),
        EventKind::TimerCreated => event!(TimerCreated {
            fire_at_ms: any_number(),
            execution_id: any_execution(),
        }),
        EventKind::TimerFired => event!(TimerFired {
            source_event_id: any_source(),
            fire_at_ms: any_number(),
        }),
        EventKind::TimerCancelled => event!(TimerCancelled {
            source_event_id: any_source(),
        }),
        EventKind::ExternalSubscribed => event!(ExternalSubscribed { name: text() }),
        EventKind::ExternalEvent => event!(ExternalEvent {
            name: text(),
            data: text(),
            message_id: text(),
        }),
        EventKind::SubOrchestrationScheduled => event!(SubOrchestrationScheduled {
            name: text(),
            version: of(text()),
            instance: text(),
            input: text(),
            execution_id: any_execution(),
        }),
        EventKind::SubOrchestrationCompleted => event!(SubOrchestrationCompleted {
            source_event_id: any_source(),
            result: text(),
        }),
        EventKind::SubOrchestrationFailed => event!(SubOrchestrationFailed {
            source_event_id: any_source(),
            failure: any_failure(),
        }),
        EventKind::SubOrchestrationCancelRequested => event!(SubOrchestrationCancelRequested {
            source_event_id: any_source(),
        }),
        EventKind::OrchestrationChained => event!(OrchestrationChained {
            name: text(),
            version: of(text()),
            instance: text(),
            input: text(),
        }),
        EventKind::OperationCompleted => event!(OperationCompleted {
            name: text(),
            result: any_outcome(),
        }),
        EventKind::StateSet => event!(StateSet {
            key: text(),
            value: text(),
        }),
        EventKind::StateCleared => event!(StateCleared { key: text() }),
        EventKind::PromiseCreated => event!(PromiseCreated {
            name: text(),
            number: any_number(),
        }),
        EventKind::PromiseResolved => event!(PromiseResolved {
            source_event_id: any_source(),
            value: text(),
        }),
        EventKind::PromiseRejected => event!(PromiseRejected {
            source_event_id: any_source(),
            failure: any_failure(),
        }),
        EventKind::ExternalEventSent => event!(ExternalEventSent {
            target: text(),
            name: text(),
            data: text(),
        }),
        EventKind::PromiseResolutionSent => event!(PromiseResolutionSent {
            target: any_token(),
            resolution: any_outcome(),
        }),
        EventKind::CustomStatusSet => event!(CustomStatusSet { status: text() }),
        EventKind::PatchMarked => event!(PatchMarked { patch_id: text() }),
        EventKind::OrchestrationCancelRequested => {
            event!(OrchestrationCancelRequested { reason: any_text() })
        }
        EventKind::OrchestrationCompleted => event!(OrchestrationCompleted { output: text() }),
        EventKind::OrchestrationFailed => event!(OrchestrationFailed {
            failure: any_failure(),
        }),
        EventKind::OrchestrationContinuedAsNew => event!(OrchestrationContinuedAsNew {
            input: text(),
            version: of(text()),
        }),
        EventKind::OrchestrationTerminated => event!(OrchestrationTerminated {
            failure: any_failure(),
        }),
        _ => return None,
    })
}

/// Any number, often one where the length of its encoding changes or where a
/// floating point number would lose it.
///
/// ```
/// use durable_testkit::strategy::any_number;
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let mut runner = TestRunner::deterministic();
/// let number = any_number().new_tree(&mut runner).unwrap().current();
/// assert!(number.checked_sub(number) == Some(0));
/// ```
pub fn any_number() -> impl Strategy<Value = u64> {
    const EDGES: &[u64] = &[
        0,
        1,
        250,
        251,
        0xffff,
        0x1_0000,
        0xffff_ffff,
        0x1_0000_0000,
        (1 << 53) + 1,
        u64::MAX - 1,
        u64::MAX,
    ];
    prop_oneof![select(EDGES), any::<u64>(), 0_u64..2_000]
}

/// Any position that an event can have.
fn any_position() -> impl Strategy<Value = EventId> {
    any_number().prop_map(|number| EventId::new(number.max(1)))
}

/// Any position, also one that no event can have.
fn any_source() -> impl Strategy<Value = EventId> {
    any_number().prop_map(EventId::new)
}

/// Any execution.
fn any_execution() -> impl Strategy<Value = ExecutionId> {
    any_number().prop_map(ExecutionId::new)
}

/// Any text as whatever type of text is asked for.
fn text<T: From<String> + std::fmt::Debug>() -> impl Strategy<Value = T> {
    any_text().prop_map(T::from)
}

/// The kinds of failure without a name of the user's.
const BUILT_IN_KINDS: &[FailureKind] = &[
    FailureKind::Timeout,
    FailureKind::Cancelled,
    FailureKind::Panicked,
    FailureKind::Poisoned,
    FailureKind::Terminated,
    FailureKind::DeterminismViolation,
    FailureKind::CorruptHistory,
    FailureKind::NotRegistered,
    FailureKind::InstanceExists,
    FailureKind::InvalidPayload,
    FailureKind::LimitExceeded,
    FailureKind::Suspended,
    FailureKind::PayloadCodec,
    FailureKind::Storage,
];

/// Any kind of failure.
fn any_failure_kind() -> impl Strategy<Value = FailureKind> {
    prop_oneof![
        1 => text().prop_map(FailureKind::Application),
        3 => select(BUILT_IN_KINDS),
    ]
}

/// Any failure.
///
/// ```
/// use durable_testkit::strategy::any_failure;
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let mut runner = TestRunner::deterministic();
/// let failure = any_failure().new_tree(&mut runner).unwrap().current();
/// assert_eq!(failure, failure.clone());
/// ```
pub fn any_failure() -> impl Strategy<Value = Failure> {
    (any_failure_kind(), any_text(), of(text()), any::<bool>()).prop_map(
        |(kind, message, details, retryable)| Failure {
            kind,
            message,
            details,
            retryable,
        },
    )
}

/// Any result of something that may fail.
fn any_outcome() -> impl Strategy<Value = Result<Payload, Failure>> {
    prop_oneof![text().prop_map(Ok), any_failure().prop_map(Err)]
}

/// Any parent.
fn any_parent() -> impl Strategy<Value = Parent> {
    (text(), any_execution(), any_source()).prop_map(|(instance, execution_id, event_id)| Parent {
        instance,
        execution_id,
        event_id,
    })
}

/// Any promise token.
fn any_token() -> impl Strategy<Value = PromiseToken> {
    (text(), any_execution(), any_number()).prop_map(|(instance, execution_id, number)| {
        PromiseToken {
            instance,
            execution_id,
            number,
        }
    })
}

/// Anything that continue-as-new hands over.
fn any_carried() -> impl Strategy<Value = Carried> {
    let unread = (text(), text(), text()).prop_map(|(name, data, message_id)| UnreadEvent {
        name,
        data,
        message_id,
    });
    (
        vec((text(), text()), 0..4),
        of(text()),
        vec(unread, 0..4),
        vec(text(), 0..4),
        of(any_text()),
    )
        .prop_map(
            |(state, custom_status, unread_events, read_message_ids, cancel_reason)| Carried {
                state,
                custom_status,
                unread_events,
                read_message_ids,
                cancel_reason,
            },
        )
}

/// Any options of an activity.
fn any_options() -> impl Strategy<Value = ActivityOptions> {
    let retry = (
        any::<u32>(),
        any_number(),
        any::<u32>(),
        any_number(),
        any::<u32>(),
    )
        .prop_map(
            |(max_attempts, first_backoff_ms, backoff_percent, max_backoff_ms, jitter_percent)| {
                RetryPolicy {
                    max_attempts,
                    first_backoff_ms,
                    backoff_percent,
                    max_backoff_ms,
                    jitter_percent,
                }
            },
        );
    (of(text()), retry, of(any_number()), of(any_number())).prop_map(
        |(queue, retry, attempt_timeout_ms, total_timeout_ms)| ActivityOptions {
            queue,
            retry,
            attempt_timeout_ms,
            total_timeout_ms,
        },
    )
}
