//! Errors of a provider, split by what the caller must do.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use super::lease::SessionId;
use crate::corruption::Corruption;
use crate::limits::LimitError;

/// Why a provider did not answer a call.
///
/// The variant says what may be assumed and what to do; the text is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderError {
    /// Nothing happened. Wait a little and try again.
    Unavailable {
        /// What stands in the way.
        reason: String,
    },
    /// It may have happened. Read again before anything is tried again.
    Unknown {
        /// What went wrong.
        reason: String,
    },
    /// The session has ended: everything it held may be in other hands. Drop
    /// what it holds and open a new one.
    SessionLost {
        /// The session.
        session: SessionId,
    },
    /// What is stored cannot be read. Only this instance is concerned: stop it
    /// and report it.
    Corrupt(Box<Corruption>),
    /// Stored bytes do not decode. Only what the text names is concerned: stop
    /// it and report it.
    Damaged {
        /// What does not decode, and why.
        reason: String,
    },
    /// The request itself is refused; nothing was written. It will never succeed.
    Refused(LimitError),
    /// The payload codec refused a payload for good; nothing was written. It will never
    /// succeed. Providers do not answer with it: the layer that encodes payloads does.
    NotEncodable {
        /// What the codec said.
        reason: String,
    },
    /// The request contradicts itself; nothing was written. This is a bug in the
    /// caller.
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
    /// The store cannot be used at all: wrong format, wrong version, gone.
    Unusable {
        /// Why, and what to do.
        reason: String,
    },
}

impl ProviderError {
    /// Whether the same call may succeed later without anything being re-read.
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { reason } => write!(f, "the store is busy or away: {reason}"),
            Self::Unknown { reason } => {
                write!(f, "the store may or may not have done it: {reason}")
            }
            Self::SessionLost { session } => {
                write!(f, "{session} has ended; what it held may be in other hands")
            }
            Self::Corrupt(corruption) => corruption.fmt(f),
            Self::Damaged { reason } => write!(f, "stored bytes are damaged: {reason}"),
            Self::Refused(limit) => limit.fmt(f),
            Self::NotEncodable { reason } => f.write_str(reason),
            Self::Invalid { reason } => write!(f, "the request contradicts itself: {reason}"),
            Self::Unusable { reason } => write!(f, "the store cannot be used: {reason}"),
        }
    }
}

impl core::error::Error for ProviderError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Corrupt(corruption) => Some(corruption),
            Self::Refused(limit) => Some(limit),
            _ => None,
        }
    }
}

impl From<LimitError> for ProviderError {
    fn from(limit: LimitError) -> Self {
        Self::Refused(limit)
    }
}
