//! Why a request has no answer.

use std::fmt;
use std::time::Duration;

use durable_core::{Failure, InstanceId, MessageId};

use super::ClientError;

/// Whether a request is, or was, in the inbox of its instance: then it is answered once,
/// whether or not the caller waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Admission {
    /// It is not: the instance will not see it.
    No,
    /// It is.
    Yes,
    /// It may be: the store did not answer, or an earlier attempt with the same id may have
    /// been admitted.
    Unknown,
}

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError<E = String> {
    /// The code rejected it with this.
    Rejected(E),
    /// The runtime answered in the place of the code. The kind says why: `InvalidPayload` if
    /// the input is not of the type that the code takes, `Unanswered` if the code took the
    /// request and did not answer it.
    Failed(Failure),
    /// There was no answer when the timeout was over. Asked again with the same id, the
    /// request gets the answer that it has by then.
    TimedOut {
        /// The instance.
        instance: InstanceId,
        /// The id of the request.
        request_id: MessageId,
        /// Whether the instance will answer it.
        admitted: Admission,
        /// The timeout.
        timeout: Duration,
        /// What keeps the instance from going on, such as code that no node has.
        blocked: Option<Failure>,
    },
    /// There is no answer: no such instance, one that has ended or is suspended, a value that
    /// was refused, or a store that did not answer.
    NotAnswered {
        /// The id of the request.
        request_id: MessageId,
        /// Whether the instance will answer it, if it still can.
        admitted: Admission,
        /// Why.
        error: ClientError,
    },
}

impl<E: fmt::Display> fmt::Display for RequestError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => write!(f, "the request was rejected: {rejection}"),
            Self::Failed(failure) => failure.fmt(f),
            Self::TimedOut {
                instance,
                request_id,
                admitted,
                timeout,
                blocked,
            } => {
                write!(
                    f,
                    "instance `{instance}` had not answered request `{request_id}` after \
                     {timeout:?}"
                )?;
                if let Some(blocked) = blocked {
                    write!(f, ": {blocked}")?;
                }
                admitted.explain(f)
            }
            Self::NotAnswered {
                admitted, error, ..
            } => {
                error.fmt(f)?;
                admitted.explain(f)
            }
        }
    }
}

impl Admission {
    /// Says what the caller may still expect.
    fn explain(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => " (the request was not admitted)",
            Self::Yes => " (the request was admitted: ask again with its id)",
            Self::Unknown => " (the request may have been admitted: ask again with its id)",
        })
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for RequestError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Rejected(_) | Self::TimedOut { .. } => None,
            Self::Failed(failure) => Some(failure),
            Self::NotAnswered { error, .. } => Some(error),
        }
    }
}
