//! Entries, events of every kind, and their parts. These strategies know the types
//! only: whether events make sense in their order is no concern of theirs.

use std::time::Duration;

use durable_core::{
    ActivityOptions, AttributeValue, Attributes, Carried, Event, EventId, EventKind, ExecutionId,
    Failure, FailureKind, HistoryEntry, InstanceId, MessageId, Name, Parent, Payload, PromiseToken,
    RetryPolicy, TraceParent, UnreadEvent, Version,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::{BoxedStrategy, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::strategy::Union;

use super::text::any_text;

/// Defines the strategies of all events from the table of events and the strategies of
/// the types of its fields.
macro_rules! event_strategies {
    ($(
        $(#[$meta:meta])*
        $number:literal $class:ident $(($command:ident))? $kind:ident {
            $( $(#[$field_meta:meta])* $field:ident: $type:ty as $role:expr, )*
        }
    )*) => {
        /// The strategy of each kind.
        fn strategies() -> Vec<(EventKind, BoxedStrategy<Event>)> {
            vec![ $( (
                EventKind::$kind,
                (any_position(), $( <$type>::any_field(), )*)
                    .prop_map(|(event_id, $( $field, )*)| Event::$kind { event_id, $( $field, )* })
                    .boxed(),
            ), )* ]
        }
    };
}

durable_core::__event_table!(event_strategies);

/// A type that stands in events.
trait AnyField: Sized + std::fmt::Debug {
    fn any_field() -> BoxedStrategy<Self>;
}

macro_rules! any_field {
    ($( $type:ty => $strategy:expr, )*) => {$(
        impl AnyField for $type {
            fn any_field() -> BoxedStrategy<Self> {
                $strategy.boxed()
            }
        }
    )*};
}

any_field! {
    Name => text(),
    InstanceId => text(),
    Payload => text(),
    Version => text(),
    MessageId => text(),
    String => any_text(),
    u64 => any_number(),
    EventId => any_source(),
    ExecutionId => any_execution(),
    PromiseToken => any_token(),
    Parent => any_parent(),
    Box<Carried> => any_carried().prop_map(Box::new),
    AttributeValue => any_attribute(),
    ActivityOptions => any_options(),
    Failure => any_failure(),
    Result<Payload, Failure> => any_outcome(),
}

impl<T: AnyField + Clone + 'static> AnyField for Option<T> {
    fn any_field() -> BoxedStrategy<Self> {
        of(T::any_field()).boxed()
    }
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
    (any_number(), any_event())
        .prop_map(|(recorded_at_ms, event)| HistoryEntry::new(recorded_at_ms, event))
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
    Union::new(strategies().into_iter().map(|(_, strategy)| strategy))
}

/// Any event of this kind. Every kind has a strategy, made from the table of events.
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
    let mut strategies = strategies().into_iter();
    strategies.find_map(|(of, strategy)| (of == kind).then_some(strategy))
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
        |(kind, message, details, retryable)| {
            let mut failure = Failure::new(kind, message);
            failure.details = details;
            failure.retryable = retryable;
            failure
        },
    )
}

/// Any result of something that may fail.
fn any_outcome() -> impl Strategy<Value = Result<Payload, Failure>> {
    prop_oneof![text().prop_map(Ok), any_failure().prop_map(Err)]
}

/// Any parent.
fn any_parent() -> impl Strategy<Value = Parent> {
    (text(), any_execution(), any_source()).prop_map(|(instance, execution_id, event_id)| {
        Parent::new(instance, execution_id, event_id)
    })
}

/// Any promise token.
fn any_token() -> impl Strategy<Value = PromiseToken> {
    (text(), any_execution(), any_number()).prop_map(|(instance, execution_id, number)| {
        PromiseToken::new(instance, execution_id, number)
    })
}

/// Any attributes.
fn any_attributes() -> impl Strategy<Value = Attributes> {
    vec((text(), any_attribute()), 0..4).prop_map(|attributes| attributes.into_iter().collect())
}

/// Any value of an attribute.
fn any_attribute() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        any_text().prop_map(AttributeValue::Text),
        any::<i64>().prop_map(AttributeValue::Integer),
        any::<i64>().prop_map(AttributeValue::Time),
        any::<bool>().prop_map(AttributeValue::Bool),
    ]
}

/// Anything that continue-as-new hands over.
fn any_carried() -> impl Strategy<Value = Carried> {
    let unread = (text(), text(), text())
        .prop_map(|(name, data, message_id)| UnreadEvent::new(name, data, message_id));
    (
        vec((text(), text()), 0..4),
        of(text()),
        vec(unread, 0..4),
        vec(text(), 0..4),
        of(any_text()),
        any_attributes(),
    )
        .prop_map(
            |(state, custom_status, unread_events, read_message_ids, cancel_reason, attributes)| {
                let mut carried = Carried::default();
                carried.state = state;
                carried.custom_status = custom_status;
                carried.unread_events = unread_events;
                carried.read_message_ids = read_message_ids;
                carried.cancel_reason = cancel_reason;
                carried.attributes = attributes;
                carried
            },
        )
}

/// Any position in a trace.
fn any_trace_parent() -> impl Strategy<Value = TraceParent> {
    let any = (any::<u128>(), any::<u64>(), any::<u8>());
    any.prop_filter_map("an id is zero", |(trace_id, span_id, flags)| {
        TraceParent::new(trace_id, span_id, flags)
    })
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
                RetryPolicy::attempts(max_attempts)
                    .first_backoff(Duration::from_millis(first_backoff_ms))
                    .max_backoff(Duration::from_millis(max_backoff_ms))
                    .backoff_percent(backoff_percent)
                    .jitter_percent(jitter_percent)
            },
        );
    (
        of(text()),
        retry,
        of(any_number()),
        of(any_number()),
        of(any_trace_parent()),
    )
        .prop_map(
            |(queue, retry, attempt_timeout_ms, total_timeout_ms, trace_parent)| {
                let mut options = ActivityOptions::default().retry(retry);
                options.queue = queue;
                options.attempt_timeout_ms = attempt_timeout_ms;
                options.total_timeout_ms = total_timeout_ms;
                options.trace_parent = trace_parent;
                options
            },
        )
}
