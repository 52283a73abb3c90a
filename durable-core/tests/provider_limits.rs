//! Every name and payload that a provider is handed is measured: each of them, one
//! byte too long and everything else at its limit, is refused by its own name.

use durable_core::provider::{
    CommitId, CustomStatusUpdate, InstanceStatus, InstanceUpdate, Lease, Message, MessageBody,
    NextExecution, OutgoingMessage, Release, SessionId, StartInstance, TurnCommit, WorkResult,
};
use durable_core::{
    ActivityOptions, AttributeNameFault, Attributes, Event, EventId, ExecutionId, Failure,
    HistoryEntry, InstanceId, LimitError, Limits,
};

const LIMITS: Limits = Limits::new().max_name_bytes(3).max_payload_bytes(5);
const NAME: &str = "abc";
const LONG_NAME: &str = "abcd";
const PAYLOAD: &str = "12345";
const LONG_PAYLOAD: &str = "123456";

fn long_name(what: &'static str) -> Result<(), LimitError> {
    Err(LimitError::NameTooLong {
        what,
        bytes: LONG_NAME.len(),
        max_bytes: NAME.len(),
    })
}

fn long_payload(what: &'static str) -> Result<(), LimitError> {
    Err(LimitError::PayloadTooLarge {
        what,
        bytes: LONG_PAYLOAD.len(),
        max_bytes: PAYLOAD.len(),
    })
}

fn failure(kind: &str, message: &str, details: &str) -> Failure {
    Failure::application(kind, message).with_details(details)
}

fn raised(message_id: &str, name: &str, data: &str) -> Message {
    Message {
        message_id: message_id.into(),
        body: MessageBody::ExternalRaised {
            name: name.into(),
            data: data.into(),
        },
    }
}

fn start(name: &str, version: &str, input: &str) -> Message {
    Message {
        message_id: NAME.into(),
        body: MessageBody::Start(
            StartInstance::new(name.into(), input.into()).version(version.into()),
        ),
    }
}

fn to(target: &str, message: &Message) -> Result<(), LimitError> {
    LIMITS.check_message(&InstanceId::from(target), message)
}

fn empty_turn() -> TurnCommit {
    let lease = Lease {
        instance: NAME.into(),
        session: SessionId(1),
        token: 1,
    };
    TurnCommit::new(CommitId(1), lease, ExecutionId::FIRST, EventId::UNASSIGNED)
}

fn status_set(status: &str) -> HistoryEntry {
    HistoryEntry::new(
        0,
        Event::CustomStatusSet {
            event_id: EventId::new(2),
            status: status.into(),
        },
    )
}

fn scheduled(name: &str, input: &str, queue: &str) -> HistoryEntry {
    HistoryEntry::new(
        0,
        Event::ActivityScheduled {
            event_id: EventId::new(1),
            execution_id: ExecutionId::FIRST,
            name: name.into(),
            input: input.into(),
            options: ActivityOptions::default().queue(queue),
        },
    )
}

#[test]
fn a_message_is_measured_with_its_target() {
    assert_eq!(to(NAME, &raised(NAME, NAME, PAYLOAD)), Ok(()));
    let fits = raised(NAME, NAME, PAYLOAD);
    assert_eq!(to(LONG_NAME, &fits), long_name("instance"));
    let long_id = raised(LONG_NAME, NAME, PAYLOAD);
    assert_eq!(to(NAME, &long_id), long_name("message"));
    let long_event = raised(NAME, LONG_NAME, PAYLOAD);
    assert_eq!(to(NAME, &long_event), long_name("event"));
    let large = raised(NAME, NAME, LONG_PAYLOAD);
    assert_eq!(to(NAME, &large), long_payload("event data"));
}

#[test]
fn a_start_is_measured() {
    assert_eq!(to(NAME, &start(NAME, NAME, PAYLOAD)), Ok(()));
    let long = start(LONG_NAME, NAME, PAYLOAD);
    assert_eq!(to(NAME, &long), long_name("orchestration"));
    let long_version = start(NAME, LONG_NAME, PAYLOAD);
    assert_eq!(to(NAME, &long_version), long_name("version"));
    let large = start(NAME, NAME, LONG_PAYLOAD);
    assert_eq!(to(NAME, &large), long_payload("input"));
}

#[test]
fn a_failure_is_measured_in_all_its_parts() {
    let check = |kind, message, details| {
        let result = WorkResult::Poisoned(failure(kind, message, details));
        LIMITS.check_work_result(&result)
    };
    assert_eq!(check(NAME, PAYLOAD, PAYLOAD), Ok(()));
    assert_eq!(
        check(LONG_NAME, PAYLOAD, PAYLOAD),
        long_name("failure kind")
    );
    let large_message = check(NAME, LONG_PAYLOAD, PAYLOAD);
    assert_eq!(large_message, long_payload("failure message"));
    let large_details = check(NAME, PAYLOAD, LONG_PAYLOAD);
    assert_eq!(large_details, long_payload("failure details"));
}

#[test]
fn a_result_is_measured_and_what_carries_nothing_passes() {
    let finished = WorkResult::Finished(Ok(LONG_PAYLOAD.into()));
    assert_eq!(LIMITS.check_work_result(&finished), long_payload("result"));
    let failed = WorkResult::Finished(Err(failure(LONG_NAME, PAYLOAD, PAYLOAD)));
    assert_eq!(LIMITS.check_work_result(&failed), long_name("failure kind"));
    let large = failure(NAME, LONG_PAYLOAD, PAYLOAD);
    assert_eq!(LIMITS.retained_failure(&large), None);
    let small = failure(NAME, PAYLOAD, PAYLOAD);
    assert_eq!(LIMITS.retained_failure(&small), Some(&small));
    let retry = WorkResult::Retry {
        not_before_ms: 7,
        failure: large,
    };
    assert_eq!(LIMITS.check_work_result(&retry), Ok(()));
}

#[test]
fn attributes_are_few_short_and_named_by_words() {
    let text = |bytes| "x".repeat(bytes);
    let check = |attributes: &[(&str, &str)]| {
        let attributes: Attributes = attributes
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let started = LIMITS.check_attributes(&attributes);
        let mut turn = empty_turn();
        turn.update.attributes = Some(attributes);
        assert_eq!(LIMITS.check_turn(&turn), started);
        started
    };
    let names: Vec<String> = (0..17).map(|number| format!("a{number}")).collect();
    let all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    assert_eq!(check(&all[1..]), Ok(()));
    assert_eq!(check(&all), Err(LimitError::TooManyAttributes));
    assert_eq!(check(&[("customer", &text(256))]), Ok(()));
    let long = Err(LimitError::AttributeTooLong { bytes: 257 });
    assert_eq!(check(&[("customer", &text(257))]), long);
    let fault = AttributeNameFault::Reserved;
    let reserved = Err(LimitError::InvalidAttributeName { fault });
    assert_eq!(check(&[("status", "1")]), reserved);
    let event = Event::AttributeSet {
        event_id: EventId::new(2),
        name: "status".into(),
        value: "1".into(),
    };
    assert_eq!(LIMITS.check_event(&event), reserved);
    let mut start = StartInstance::new(NAME.into(), PAYLOAD.into());
    start.attributes.set("status", "1");
    let message = Message::new(NAME.into(), MessageBody::Start(start));
    assert_eq!(LIMITS.check_message(&NAME.into(), &message), reserved);
}

#[test]
fn a_turn_is_measured_in_all_its_parts() {
    let check = |change: fn(&mut TurnCommit)| {
        let mut turn = empty_turn();
        change(&mut turn);
        LIMITS.check_turn(&turn)
    };
    assert_eq!(check(|_| {}), Ok(()));
    let event = check(|turn| turn.events = vec![status_set(PAYLOAD), status_set(LONG_PAYLOAD)]);
    assert_eq!(event, long_payload("custom status"));
    let next = check(|turn| {
        turn.next_execution = Some(NextExecution::new(
            ExecutionId::FIRST.next(),
            vec![status_set(LONG_PAYLOAD)],
        ));
    });
    assert_eq!(next, long_payload("custom status"));
    let activity = check(|turn| turn.events = vec![scheduled(LONG_NAME, PAYLOAD, NAME)]);
    assert_eq!(activity, long_name("activity"));
    let input = check(|turn| turn.events = vec![scheduled(NAME, LONG_PAYLOAD, NAME)]);
    assert_eq!(input, long_payload("input"));
    let queue = check(|turn| turn.events = vec![scheduled(NAME, PAYLOAD, LONG_NAME)]);
    assert_eq!(queue, long_name("queue"));
    let message = check(|turn| {
        let message = raised(NAME, NAME, PAYLOAD);
        turn.new_messages = vec![OutgoingMessage::new(LONG_NAME.into(), message)];
    });
    assert_eq!(message, long_name("instance"));
}

#[test]
fn what_a_turn_says_of_its_instance_is_measured() {
    let check = |change: fn(&mut InstanceUpdate)| {
        let mut turn = empty_turn();
        change(&mut turn.update);
        LIMITS.check_turn(&turn)
    };
    let running = check(|update| update.running = Some((NAME.into(), LONG_NAME.into())));
    assert_eq!(running, long_name("version"));
    let custom =
        check(|update| update.custom_status = CustomStatusUpdate::Set(LONG_PAYLOAD.into()));
    assert_eq!(custom, long_payload("custom status"));
    let blocked = check(|update| update.blocked = Some(failure(LONG_NAME, PAYLOAD, PAYLOAD)));
    assert_eq!(blocked, long_name("failure kind"));
    let release =
        |blocked| LIMITS.check_release(&Release::new(empty_turn().lease).blocked(blocked));
    let accepted = release(failure(NAME, PAYLOAD, PAYLOAD));
    assert_eq!(accepted, Ok(()));
    let refused = release(failure(NAME, LONG_PAYLOAD, PAYLOAD));
    assert_eq!(refused, long_payload("failure message"));
    let silent = Release::new(empty_turn().lease);
    assert_eq!(LIMITS.check_release(&silent), Ok(()));
    let completed = check(|update| {
        let output = LONG_PAYLOAD.into();
        update.status = Some(InstanceStatus::Completed { output });
    });
    assert_eq!(completed, long_payload("output"));
    let failed = check(|update| {
        let failure = failure(NAME, LONG_PAYLOAD, PAYLOAD);
        update.status = Some(InstanceStatus::Failed { failure });
    });
    assert_eq!(failed, long_payload("failure message"));
}
