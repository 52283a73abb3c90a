//! How an instance that cannot go on is left.

use durable_core::provider::ProviderError;
use durable_core::{Failure, FailureKind};

use crate::options::FaultPolicy;

/// The longest text of a fault that is stored, in bytes.
const LONGEST_MESSAGE: usize = 16 * 1024;

/// How an instance that cannot go on is left.
#[derive(Debug)]
pub(super) enum Stop {
    /// This node lacks the code: another one may have it, or this one later.
    Blocked(Failure),
    /// Until somebody resumes it.
    Suspended(Failure),
    /// For good.
    Terminated(Failure),
}

impl Stop {
    pub(super) fn by_policy(failure: Failure, policy: FaultPolicy) -> Self {
        let failure = shortened(failure);
        match policy {
            FaultPolicy::Suspend => Self::Suspended(failure),
            FaultPolicy::Terminate => Self::Terminated(failure),
        }
    }

    /// The store refuses what the turn wants to write, and always will.
    pub(super) fn refused(error: &ProviderError, policy: FaultPolicy) -> Self {
        let kind = match error {
            ProviderError::Refused(_) => FailureKind::LimitExceeded,
            _ => FailureKind::CorruptHistory,
        };
        let failure = Failure::new(kind, error.to_string()).not_retryable();
        Self::by_policy(failure, policy)
    }
}

/// Counts an instance that cannot go on.
pub(super) fn count(failure: &Failure) {
    metrics::counter!("durable_faults_total", "kind" => failure.kind.to_string()).increment(1);
    if failure.kind == FailureKind::DeterminismViolation {
        metrics::counter!("durable_violations_total").increment(1);
    }
}

/// A failure that every store accepts.
fn shortened(mut failure: Failure) -> Failure {
    if failure.message.len() > LONGEST_MESSAGE {
        let is_boundary = |end: &usize| failure.message.is_char_boundary(*end);
        let end = (0..=LONGEST_MESSAGE).rev().find(is_boundary);
        failure.message.truncate(end.unwrap_or(0));
        failure.message.push('…');
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let long = Failure::application("odd", "ä".repeat(LONGEST_MESSAGE));
        let message = shortened(long).message;
        assert!(message.len() <= LONGEST_MESSAGE + '…'.len_utf8());
        assert!(message.ends_with("ä…"));
        let short = Failure::application("odd", "short");
        assert_eq!(shortened(short.clone()), short);
    }
}
