//! What the invariants are shown: every answer of the store, at the moment when
//! the store gave it, whether it reached its caller or not.

use durable_core::InstanceId;
use durable_core::provider::{
    ClaimedWork, CommitOutcome, Lease, Message, OutgoingMessage, PurgeRequest, ReadyInstance,
    SendOutcome, SessionId, StartOutcome, TurnCommit,
};

/// An answer of the store.
///
/// See the example of [`Invariant`](crate::Invariant).
#[derive(Debug)]
#[non_exhaustive]
pub enum Observed<'a> {
    /// An instance was handed out.
    HandedOut {
        /// The store's time.
        now_ms: u64,
        /// The instance, its lease and its messages.
        ready: &'a ReadyInstance,
    },
    /// Work was handed out.
    Claimed {
        /// The item and its lease.
        work: &'a ClaimedWork,
    },
    /// A turn was committed, or not.
    Committed {
        /// The turn.
        turn: &'a TurnCommit,
        /// What became of it.
        outcome: &'a CommitOutcome,
    },
    /// Leases were given back.
    Released {
        /// The leases.
        leases: &'a [Lease],
    },
    /// A session was closed.
    Closed {
        /// The session.
        session: SessionId,
    },
    /// An instance was started, or not.
    Started {
        /// The instance.
        instance: &'a InstanceId,
        /// The message that starts it.
        message: &'a Message,
        /// What became of it.
        outcome: &'a StartOutcome,
    },
    /// A message was sent by a client, or not.
    Sent {
        /// The message.
        message: &'a OutgoingMessage,
        /// What became of it.
        outcome: &'a SendOutcome,
    },
    /// An instance was suspended or resumed by a client.
    Switched {
        /// The instance.
        instance: &'a InstanceId,
    },
    /// Ended instances were removed.
    Purged {
        /// Which ones.
        purge: &'a PurgeRequest,
    },
}
