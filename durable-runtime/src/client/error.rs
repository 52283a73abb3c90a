//! Why a client call did not do what was asked.

use std::fmt;
use std::time::Duration;

use durable_core::provider::{ProviderError, StatusKind};
use durable_core::{ExecutionId, Failure, InstanceId, Name};

use crate::payload_codec::PayloadCodecError;

/// Why a client call did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientError {
    /// There is no such instance.
    NotFound {
        /// The id.
        instance: InstanceId,
    },
    /// The instance has ended.
    Ended {
        /// The id.
        instance: InstanceId,
    },
    /// The id is taken.
    Taken {
        /// The id.
        instance: InstanceId,
        /// Its latest execution.
        execution_id: ExecutionId,
        /// Where that stands.
        status: StatusKind,
    },
    /// A name or a value was refused before anything was sent.
    Refused(Failure),
    /// The instance that was waited for failed or was terminated.
    Failed {
        /// The id.
        instance: InstanceId,
        /// Why.
        failure: Failure,
    },
    /// The instance that was waited for is suspended: it does nothing before a client
    /// resumes it.
    Suspended {
        /// The id.
        instance: InstanceId,
        /// Why.
        failure: Failure,
    },
    /// The instance had not ended when the timeout of the wait was over.
    TimedOut {
        /// The id.
        instance: InstanceId,
        /// The timeout.
        timeout: Duration,
        /// What keeps the instance from going on, such as code that no node has.
        blocked: Option<Failure>,
    },
    /// The payload codec of this client cannot read what is stored.
    Unreadable {
        /// The id.
        instance: InstanceId,
        /// Why.
        error: PayloadCodecError,
    },
    /// The value that was read is not of the expected type.
    InvalidPayload(Failure),
    /// Items of the stream that were asked for are no longer stored. Reading goes on with the first
    /// one that is.
    StreamTrimmed {
        /// The id.
        instance: InstanceId,
        /// The stream.
        stream: Name,
        /// The offset that was asked for.
        requested: u64,
        /// The offset of the first item that is stored.
        first: u64,
    },
    /// The store did not do it, or may not have.
    Provider(ProviderError),
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { instance } => write!(f, "there is no instance `{instance}`"),
            Self::Ended { instance } => write!(f, "instance `{instance}` has ended"),
            Self::Taken {
                instance,
                execution_id,
                status,
            } => write!(
                f,
                "the id `{instance}` is taken: its execution {execution_id} is {status}; use \
                 another id, or say with a reuse policy what is to be done"
            ),
            Self::Refused(failure) | Self::InvalidPayload(failure) => failure.fmt(f),
            Self::Failed { instance, failure } => {
                write!(f, "instance `{instance}` failed: {failure}")
            }
            Self::Suspended { instance, failure } => write!(
                f,
                "instance `{instance}` is suspended: {failure}; it goes on when it is resumed"
            ),
            Self::TimedOut {
                instance,
                timeout,
                blocked,
            } => {
                write!(f, "instance `{instance}` had not ended after {timeout:?}")?;
                match blocked {
                    Some(blocked) => write!(f, ": {blocked}"),
                    None => Ok(()),
                }
            }
            Self::Unreadable { instance, error } => write!(
                f,
                "what is stored of instance `{instance}` cannot be read: {error}: use the \
                 payload codec that wrote it"
            ),
            Self::StreamTrimmed {
                instance,
                stream,
                requested,
                first,
            } => write!(
                f,
                "stream `{stream}` of instance `{instance}` no longer has the items {requested} to \
                 {}: it begins with {first}",
                first.saturating_sub(1)
            ),
            Self::Provider(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(failure)
            | Self::InvalidPayload(failure)
            | Self::Failed { failure, .. }
            | Self::Suspended { failure, .. } => Some(failure),
            Self::Unreadable { error, .. } => Some(error),
            Self::Provider(error) => Some(error),
            Self::NotFound { .. }
            | Self::Ended { .. }
            | Self::Taken { .. }
            | Self::StreamTrimmed { .. }
            | Self::TimedOut { .. } => None,
        }
    }
}

impl From<ProviderError> for ClientError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}
