//! A failure is data: what kind it is, what happened, and whether trying again
//! can help. It travels in events and messages; it is not an error of this crate.

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::text::{Name, Payload};

/// Why an activity, a sub-orchestration, a promise or an orchestration failed.
///
/// ```
/// use durable_core::Failure;
///
/// let declined = Failure::application("card_declined", "the bank said no").not_retryable();
/// assert_eq!(declined.to_string(), "card_declined: the bank said no");
/// assert!(!declined.retryable);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What happened, for people.
    pub message: String,
    /// What happened, for programs.
    pub details: Option<Payload>,
    /// Whether another attempt may succeed.
    pub retryable: bool,
}

impl Failure {
    /// A failure of a built-in kind. Whether it can be retried follows from the kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let retryable = kind.is_retryable();
        Self {
            kind,
            message: message.into(),
            details: None,
            retryable,
        }
    }

    /// A failure of the user's own kind; retryable unless said otherwise.
    pub fn application(kind: impl Into<Name>, message: impl Into<String>) -> Self {
        Self::new(FailureKind::Application(kind.into()), message)
    }

    /// The operation was cancelled.
    pub fn cancelled(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Cancelled, message)
    }

    /// Marks the failure as final: no further attempt is made.
    #[must_use]
    pub fn not_retryable(mut self) -> Self {
        self.retryable = false;
        self
    }

    /// Adds details for programs.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<Payload>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// What people need to know of it: its kind and the beginning of its message, without
    /// details.
    ///
    /// ```
    /// use durable_core::Failure;
    ///
    /// let declined = Failure::application("declined", "é".repeat(1_000)).with_details("17");
    /// let summary = declined.summary();
    /// assert_eq!(summary.message, format!("{}…", "é".repeat(512)));
    /// assert_eq!(summary.details, None);
    /// assert_eq!(summary.summary(), summary);
    /// ```
    #[must_use]
    pub fn summary(&self) -> Self {
        let mut message = self.message.clone();
        if message.len() > Self::SUMMARY_BYTES + '…'.len_utf8() {
            let is_boundary = |at: &usize| message.is_char_boundary(*at);
            let end = (0..=Self::SUMMARY_BYTES).rev().find(is_boundary);
            message.truncate(end.unwrap_or_default());
            message.push('…');
        }
        Self {
            kind: self.kind.clone(),
            message,
            details: None,
            retryable: self.retryable,
        }
    }

    /// The longest message of a summary, before the sign that something was cut off.
    const SUMMARY_BYTES: usize = 1_024;

    /// Whether this is a cancellation.
    pub fn is_cancelled(&self) -> bool {
        self.kind == FailureKind::Cancelled
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl core::error::Error for Failure {}

/// The kind of a [`Failure`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FailureKind {
    /// The user's own kind.
    Application(Name),
    /// An attempt, or all attempts together, took too long.
    Timeout,
    /// It was cancelled.
    Cancelled,
    /// User code panicked.
    Panicked,
    /// It took its worker down again and again and is a dead letter.
    Poisoned,
    /// The instance was terminated.
    Terminated,
    /// The code no longer does what its history says.
    DeterminismViolation,
    /// The history cannot be what any run has written.
    CorruptHistory,
    /// No node knows an activity or orchestration of that name and version.
    NotRegistered,
    /// The instance id is taken.
    InstanceExists,
    /// A payload does not decode as the type that is expected.
    InvalidPayload,
    /// A payload or a name is larger than allowed.
    LimitExceeded,
    /// A client suspended the instance.
    Suspended,
    /// The payload codec can never encode or decode a payload.
    PayloadCodec,
    /// The store did not do what an activity asked of it.
    Storage,
    /// There is no instance with that id.
    UnknownInstance,
    /// The instance has ended.
    InstanceEnded,
}

impl FailureKind {
    /// Whether another attempt may succeed, as far as the kind alone can tell.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Application(_)
                | Self::Timeout
                | Self::Panicked
                | Self::NotRegistered
                | Self::Storage
        )
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Application(kind) => kind,
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Panicked => "panicked",
            Self::Poisoned => "poisoned",
            Self::Terminated => "terminated",
            Self::DeterminismViolation => "determinism violation",
            Self::CorruptHistory => "corrupt history",
            Self::NotRegistered => "not registered",
            Self::InstanceExists => "instance exists",
            Self::InvalidPayload => "invalid payload",
            Self::LimitExceeded => "limit exceeded",
            Self::Suspended => "suspended",
            Self::PayloadCodec => "payload codec",
            Self::Storage => "storage",
            Self::UnknownInstance => "unknown instance",
            Self::InstanceEnded => "instance ended",
        })
    }
}
