//! One or more entries of every kind, chosen so that every field and every form of
//! it occurs: the golden files are made from them.

use std::time::Duration;

use durable_core::{
    ActivityOptions, AttributeValue, Carried, Event, EventId, ExecutionId, Failure, FailureKind,
    HistoryEntry, Parent, PromiseToken, RetryPolicy, TraceParent, UnreadEvent,
};

/// An entry, and which of the entries of its kind it is if there are several.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) variant: Option<&'static str>,
    pub(crate) entry: HistoryEntry,
}

/// The kinds of failure that have no name of the user's.
pub(crate) const BUILT_IN_FAILURE_KINDS: &[FailureKind] = &[
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

/// Samples of every kind.
pub(crate) fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    samples.extend(starts());
    samples.extend(activities());
    samples.extend(timers());
    samples.extend(external_events());
    samples.extend(sub_orchestrations());
    samples.extend(recorded_values());
    samples.extend(promises());
    samples.extend(terminals());
    samples.extend(failures());
    samples
}

fn sample(variant: impl Into<Option<&'static str>>, event: Event) -> Sample {
    Sample {
        variant: variant.into(),
        entry: HistoryEntry::new(1_767_225_600_000 + event.event_id().get() % 1_000, event),
    }
}

const fn at(position: u64) -> EventId {
    EventId::new(position)
}

fn declined() -> Failure {
    Failure::application("card_declined", "the bank said no: «无余额»")
        .with_details(r#"{"code":51,"bank":"Crédit"}"#)
        .not_retryable()
}

fn trace_parent() -> TraceParent {
    let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    header.parse().unwrap()
}

fn carried() -> Carried {
    let mut carried = Carried::default();
    carried.state = vec![
        ("gift".into(), "true".into()),
        ("items".into(), r#"["ä","\u0000"]"#.into()),
    ];
    carried.custom_status = Some(r#""packing""#.into());
    carried.attributes.set("customer", "c-ß");
    carried.attributes.set("due", AttributeValue::Time(-1));
    carried.unread_events = vec![
        UnreadEvent::new("add".into(), r#"{"sku":"é"}"#.into(), "m-1".into()),
        UnreadEvent::new("add".into(), "null".into(), "m-2".into()),
    ];
    carried.read_message_ids = vec!["m-0".into(), "".into(), "m-½".into()];
    carried.cancel_reason = Some("the customer left".into());
    carried.trace_parent = Some(trace_parent());
    carried
}

fn starts() -> Vec<Sample> {
    vec![
        sample(
            "plain",
            Event::OrchestrationStarted {
                event_id: EventId::FIRST,
                name: "fulfil".into(),
                version: "1.0.0".into(),
                input: "".into(),
                parent: None,
                carried: None,
            },
        ),
        sample(
            "child",
            Event::OrchestrationStarted {
                event_id: EventId::FIRST,
                name: "ship 📦".into(),
                version: "2.10.3-beta.1+build.7".into(),
                input: r#"{"order":7,"to":"Zürich"}"#.into(),
                parent: Some(Parent::new(
                    "orders/7".into(),
                    ExecutionId::new(300),
                    at(70_000),
                )),
                carried: None,
            },
        ),
        sample(
            "continued",
            Event::OrchestrationStarted {
                event_id: EventId::FIRST,
                name: "cart".into(),
                version: "1.4.0".into(),
                input: "[1,2]".into(),
                parent: None,
                carried: carried().unless_empty(),
            },
        ),
    ]
}

fn traced_options() -> ActivityOptions {
    let mut options = ActivityOptions::default().queue("gpu");
    options.trace_parent = Some(trace_parent());
    options
}

fn activities() -> Vec<Sample> {
    vec![
        sample(
            "default",
            Event::ActivityScheduled {
                event_id: at(2),
                name: "charge".into(),
                input: r#"{"amount":12}"#.into(),
                execution_id: ExecutionId::FIRST,
                options: ActivityOptions::default(),
            },
        ),
        sample(
            "options",
            Event::ActivityScheduled {
                event_id: at(251),
                name: "résumé".into(),
                input: "\"\\u2603 ☃\"".into(),
                execution_id: ExecutionId::new(u64::MAX),
                options: ActivityOptions::default()
                    .queue("gpu-気")
                    .attempt_timeout(Duration::from_millis(30_000))
                    .total_timeout(Duration::from_millis(4_294_967_296))
                    .retry(
                        RetryPolicy::attempts(u32::MAX)
                            .first_backoff(Duration::from_millis(250))
                            .max_backoff(Duration::from_millis(u64::MAX))
                            .backoff_percent(65_536)
                            .jitter_percent(100),
                    ),
            },
        ),
        sample(
            "traced",
            Event::ActivityScheduled {
                event_id: at(2),
                name: "charge".into(),
                input: "12".into(),
                execution_id: ExecutionId::FIRST,
                options: traced_options(),
            },
        ),
        sample(
            None,
            Event::ActivityCompleted {
                event_id: at(3),
                source_event_id: at(2),
                result: r#"{"receipt":"№ 42"}"#.into(),
            },
        ),
        sample(
            None,
            Event::ActivityFailed {
                event_id: at(65_536),
                source_event_id: at(65_535),
                failure: declined(),
            },
        ),
        sample(
            None,
            Event::ActivityCancelRequested {
                event_id: at(4),
                source_event_id: at(2),
            },
        ),
    ]
}

fn timers() -> Vec<Sample> {
    vec![
        sample(
            None,
            Event::TimerCreated {
                event_id: at(5),
                fire_at_ms: 1_767_225_660_000,
                execution_id: ExecutionId::new(2),
            },
        ),
        sample(
            None,
            Event::TimerFired {
                event_id: at(u64::MAX),
                source_event_id: at(5),
                fire_at_ms: u64::MAX,
            },
        ),
        sample(
            None,
            Event::TimerCancelled {
                event_id: at(250),
                source_event_id: at(249),
            },
        ),
    ]
}

fn external_events() -> Vec<Sample> {
    vec![
        sample(
            None,
            Event::ExternalSubscribed {
                event_id: at(6),
                name: "approval ✓".into(),
            },
        ),
        sample(
            None,
            Event::ExternalEventsSubscribed {
                event_id: at(6),
                name: "line ✓".into(),
            },
        ),
        sample(
            None,
            Event::ExternalEvent {
                event_id: at(7),
                name: "approval ✓".into(),
                data: r#"{"by":"Åsa"}"#.into(),
                message_id: "0198c1d2-7e5f".into(),
            },
        ),
        sample(
            None,
            Event::ExternalEventSent {
                event_id: at(8),
                target: "warehouse/Łódź".into(),
                name: "reserve".into(),
                data: "[\"a\\\"b\"]".into(),
            },
        ),
    ]
}

fn sub_orchestrations() -> Vec<Sample> {
    vec![
        sample(
            "newest",
            Event::SubOrchestrationScheduled {
                event_id: at(9),
                name: "ship".into(),
                version: None,
                instance: "orders/7/ship".into(),
                input: "7".into(),
                execution_id: ExecutionId::new(3),
            },
        ),
        sample(
            "version",
            Event::SubOrchestrationScheduled {
                event_id: at(10),
                name: "ship".into(),
                version: Some("1.2.0".into()),
                instance: "順番 7".into(),
                input: "{}".into(),
                execution_id: ExecutionId::new(70_000),
            },
        ),
        sample(
            None,
            Event::SubOrchestrationCompleted {
                event_id: at(11),
                source_event_id: at(9),
                result: r#"{"parcel":"🎁"}"#.into(),
            },
        ),
        sample(
            None,
            Event::SubOrchestrationFailed {
                event_id: at(12),
                source_event_id: at(10),
                failure: Failure::new(FailureKind::InstanceExists, "順番 7 is taken"),
            },
        ),
        sample(
            None,
            Event::SubOrchestrationCancelRequested {
                event_id: at(13),
                source_event_id: at(10),
            },
        ),
        sample(
            "newest",
            Event::OrchestrationChained {
                event_id: at(14),
                name: "survey".into(),
                version: None,
                instance: "survey-7".into(),
                input: "null".into(),
            },
        ),
        sample(
            "version",
            Event::OrchestrationChained {
                event_id: at(15),
                name: "enquête".into(),
                version: Some("3.0.0".into()),
                instance: "survey-8".into(),
                input: r#""\ud83d\ude00""#.into(),
            },
        ),
    ]
}

fn recorded_values() -> Vec<Sample> {
    vec![
        sample(
            "ok",
            Event::OperationCompleted {
                event_id: at(16),
                name: "read clock ⏰".into(),
                result: Ok("1767225600123".into()),
            },
        ),
        sample(
            "err",
            Event::OperationCompleted {
                event_id: at(17),
                name: "lookup".into(),
                result: Err(declined()),
            },
        ),
        sample(
            None,
            Event::StateSet {
                event_id: at(18),
                key: "größe".into(),
                value: r#"{"cm":180}"#.into(),
            },
        ),
        sample(
            None,
            Event::StateCleared {
                event_id: at(19),
                key: "größe".into(),
            },
        ),
        sample(
            None,
            Event::CustomStatusSet {
                event_id: at(20),
                status: r#"{"step":"упаковка"}"#.into(),
            },
        ),
        sample(None, Event::CustomStatusCleared { event_id: at(20) }),
        sample(
            "text",
            Event::AttributeSet {
                event_id: at(20),
                name: "customer".into(),
                value: "c-17 «ß»".into(),
            },
        ),
        sample(
            "integer",
            Event::AttributeSet {
                event_id: at(20),
                name: "amount".into(),
                value: i64::MIN.into(),
            },
        ),
        sample(
            "time",
            Event::AttributeSet {
                event_id: at(20),
                name: "due".into(),
                value: AttributeValue::Time(1_763_000_000_123),
            },
        ),
        sample(
            "bool",
            Event::AttributeSet {
                event_id: at(20),
                name: "is-paid".into(),
                value: true.into(),
            },
        ),
        sample(
            None,
            Event::AttributeCleared {
                event_id: at(20),
                name: "customer".into(),
            },
        ),
        sample(
            None,
            Event::PatchMarked {
                event_id: at(21),
                patch_id: "fees-2026 §3".into(),
            },
        ),
        sample(
            None,
            Event::OrchestrationCancelRequested {
                event_id: at(22),
                reason: "stock is gone\n— the shop".into(),
            },
        ),
    ]
}

fn promises() -> Vec<Sample> {
    let target = PromiseToken::new("orders/7".into(), ExecutionId::new(256), 3);
    vec![
        sample(
            None,
            Event::PromiseCreated {
                event_id: at(23),
                name: "signature ✍".into(),
                number: 4_294_967_295,
            },
        ),
        sample(
            None,
            Event::PromiseResolved {
                event_id: at(24),
                source_event_id: at(23),
                value: r#""Ωmega""#.into(),
            },
        ),
        sample(
            None,
            Event::PromiseRejected {
                event_id: at(25),
                source_event_id: at(23),
                failure: Failure::cancelled("nobody signed"),
            },
        ),
        sample(
            "ok",
            Event::PromiseResolutionSent {
                event_id: at(26),
                target: target.clone(),
                resolution: Ok("\"да\"".into()),
            },
        ),
        sample(
            "err",
            Event::PromiseResolutionSent {
                event_id: at(27),
                target,
                resolution: Err(declined()),
            },
        ),
    ]
}

fn terminals() -> Vec<Sample> {
    vec![
        sample(
            None,
            Event::OrchestrationCompleted {
                event_id: at(28),
                output: r#"{"total":"12 €"}"#.into(),
            },
        ),
        sample(
            "newest",
            Event::OrchestrationContinuedAsNew {
                event_id: at(29),
                input: "[3,4]".into(),
                version: None,
            },
        ),
        sample(
            "version",
            Event::OrchestrationContinuedAsNew {
                event_id: at(30),
                input: "\"↻\"".into(),
                version: Some("1.4.0".into()),
            },
        ),
        sample(
            None,
            Event::OrchestrationTerminated {
                event_id: at(31),
                failure: Failure::new(FailureKind::Terminated, "by hand, 手動"),
            },
        ),
    ]
}

/// One entry for every kind of failure, so that every code is in a golden file.
fn failures() -> Vec<Sample> {
    let failed = |variant, failure| {
        sample(
            variant,
            Event::OrchestrationFailed {
                event_id: at(32),
                failure,
            },
        )
    };
    let mut samples = vec![failed("application", declined())];
    samples.extend(BUILT_IN_FAILURE_KINDS.iter().map(|kind| {
        let failure = Failure::new(kind.clone(), format!("it says: {kind}"));
        failed(variant_of(kind), failure)
    }));
    samples
}

fn variant_of(kind: &FailureKind) -> &'static str {
    match kind {
        FailureKind::Timeout => "timeout",
        FailureKind::Cancelled => "cancelled",
        FailureKind::Panicked => "panicked",
        FailureKind::Poisoned => "poisoned",
        FailureKind::Terminated => "terminated",
        FailureKind::DeterminismViolation => "determinism_violation",
        FailureKind::CorruptHistory => "corrupt_history",
        FailureKind::NotRegistered => "not_registered",
        FailureKind::InstanceExists => "instance_exists",
        FailureKind::InvalidPayload => "invalid_payload",
        FailureKind::LimitExceeded => "limit_exceeded",
        FailureKind::Suspended => "suspended",
        FailureKind::PayloadCodec => "payload_codec",
        FailureKind::Storage => "storage",
        unknown => panic!("tests/support/samples.rs has no name for {unknown}"),
    }
}
