//! Values in, JSON text out, and back. A value that does not fit is a typed
//! failure that says what it was for.

use durable_core::{EventId, Failure, FailureKind, LimitError, Limits, Name, Payload};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a payload belongs to, for people.
#[derive(Debug, Clone)]
pub(crate) struct PayloadSubject {
    /// What it is: `activity`, `event`, …
    pub(crate) what: &'static str,
    /// Its name.
    pub(crate) name: Name,
}

impl PayloadSubject {
    pub(crate) fn new(what: &'static str, name: Name) -> Self {
        Self { what, name }
    }
}

/// Writes a value as JSON, within the limit.
pub(crate) fn encode<T: Serialize + ?Sized>(
    limits: &Limits,
    role: &'static str,
    subject: &PayloadSubject,
    value: &T,
) -> Result<Payload, Failure> {
    let text = serde_json::to_string(value).map_err(|error| {
        invalid(format!(
            "the {role} of {} `{}` does not encode: {error}",
            subject.what, subject.name
        ))
    })?;
    limits
        .check_payload(role, &text)
        .map_err(|error| too_large(subject, &error))?;
    Ok(Payload::from(text))
}

/// Reads a value from JSON.
pub(crate) fn decode<T: DeserializeOwned>(
    role: &'static str,
    subject: &PayloadSubject,
    event_id: Option<EventId>,
    payload: &Payload,
) -> Result<T, Failure> {
    serde_json::from_str(payload).map_err(|error| {
        let event = event_id.map_or_else(String::new, |id| format!(" (event {id})"));
        invalid(format!(
            "the {role} of {} `{}`{event} does not decode as `{}`: {error}",
            subject.what,
            subject.name,
            std::any::type_name::<T>()
        ))
    })
}

/// Checks the name of something that the code asks for.
pub(crate) fn check_name(limits: &Limits, subject: &PayloadSubject) -> Result<(), Failure> {
    limits
        .check_name(subject.what, &subject.name)
        .map_err(|error| too_large(subject, &error))
}

/// Checks the id of an instance that is to be started: it must leave room for the
/// ids of messages that are derived from it.
pub(crate) fn check_new_id(limits: &Limits, id: &str) -> Result<(), Failure> {
    let longest = match id.is_empty() {
        true => String::new(),
        false => format!("{id}/{0}/{0}/{0}", u64::MAX),
    };
    check_name(limits, &PayloadSubject::new("instance", longest.into()))
}

/// Checks a failure that the code hands on.
pub(crate) fn check_failure(limits: &Limits, failure: &Failure) -> Result<(), Failure> {
    limits
        .check_failure(failure)
        .map_err(|error| Failure::new(FailureKind::LimitExceeded, error.to_string()))
}

/// A failure as it can be stored: one that is too large says so instead.
pub(crate) fn fitting(limits: &Limits, failure: Failure) -> Failure {
    match check_failure(limits, &failure) {
        Ok(()) => failure,
        Err(refused) => refused,
    }
}

fn invalid(message: String) -> Failure {
    Failure::new(FailureKind::InvalidPayload, message)
}

fn too_large(subject: &PayloadSubject, error: &LimitError) -> Failure {
    const SHOWN_CHARS: usize = 100;
    let mut chars = subject.name.chars();
    let shown: String = chars.by_ref().take(SHOWN_CHARS).collect();
    let more = if chars.next().is_some() { "…" } else { "" };
    let message = format!("{} `{shown}{more}`: {error}", subject.what);
    Failure::new(FailureKind::LimitExceeded, message)
}

/// In whole milliseconds, rounded up: nothing that is timed is shorter than it says.
pub(crate) fn rounded_up_ms(duration: std::time::Duration) -> u64 {
    let ms = duration.as_nanos().div_ceil(1_000_000);
    u64::try_from(ms).unwrap_or(u64::MAX)
}
