//! Rejections of requests: a value of the code's own type that travels as a failure.

use std::fmt;

use durable_core::{Failure, FailureKind, Limits, Payload};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::payload::{self, PayloadSubject};

/// Why a request to another instance has no answer. Made by
/// [`OrchestrationContext::request_of`](crate::OrchestrationContext::request_of); `?` turns it
/// into a [`Failure`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestFailure<E> {
    /// The code of the other instance rejected it.
    Rejected(E),
    /// The runtime answered in the place of that code, or the wait was cancelled. The kind
    /// says why: `InvalidPayload`, `Unanswered`, `InstanceEnded`, `Cancelled`.
    Failed(Failure),
}

impl<E: DeserializeOwned> RequestFailure<E> {
    /// What a failure says.
    pub(crate) fn of(failure: Failure) -> Self {
        match typed(&failure) {
            Some(rejection) => Self::Rejected(rejection),
            None => Self::Failed(failure),
        }
    }
}

impl<E: Serialize + fmt::Display> From<RequestFailure<E>> for Failure {
    fn from(failure: RequestFailure<E>) -> Self {
        match failure {
            RequestFailure::Rejected(rejection) => {
                let details = serde_json::to_string(&rejection).ok();
                as_failure(&rejection, details.map(Payload::from))
            }
            RequestFailure::Failed(failure) => failure,
        }
    }
}

impl<E: fmt::Display> fmt::Display for RequestFailure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => write!(f, "the request was rejected: {rejection}"),
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for RequestFailure<E> {}

/// A rejection as it travels, within the limits.
pub(crate) fn encode<E: Serialize + fmt::Display>(
    limits: &Limits,
    subject: &PayloadSubject,
    rejection: &E,
) -> Result<Failure, Failure> {
    let details = payload::encode(limits, "rejection", subject, rejection)?;
    let failure = as_failure(rejection, Some(details));
    payload::check_failure(limits, &failure)?;
    Ok(failure)
}

/// The rejection that a failure carries, if it is one of this type.
pub(crate) fn typed<E: DeserializeOwned>(failure: &Failure) -> Option<E> {
    let details = failure.details.as_ref()?;
    match failure.kind {
        FailureKind::Rejected => serde_json::from_str(details).ok(),
        _ => None,
    }
}

fn as_failure(rejection: &impl fmt::Display, details: Option<Payload>) -> Failure {
    let mut failure = Failure::new(FailureKind::Rejected, rejection.to_string());
    failure.details = details;
    failure
}
