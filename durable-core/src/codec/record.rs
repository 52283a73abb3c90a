//! What a store keeps besides history: messages, statuses and failures,
//! as bytes that survive upgrades.
//!
//! They share the envelope, the rules and the guarantees of history entries; their
//! kinds have numbers of their own, which never meet those of events.

use alloc::vec::Vec;
use core::fmt;

use super::error::{DecodeError, EncodeError};
use super::{envelope, payload};
use crate::failure::Failure;
use crate::provider::{InstanceStatus, Message};

/// Defines [`RecordKind`] from one list of `number revision Name "what it is called"`.
macro_rules! record_kinds {
    ($( $number:literal $revision:literal $kind:ident $name:literal, )*) => {
        /// What an encoded record is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum RecordKind {
            $(
                #[doc = concat!("A ", $name, ".")]
                $kind,
            )*
        }

        impl RecordKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[ $( Self::$kind, )* ];

            /// The number in the envelope; never given to another kind.
            pub const fn number(self) -> u16 {
                match self {
                    $( Self::$kind => $number, )*
                }
            }

            /// The revision in which records of this kind are written.
            pub(super) const fn revision(self) -> u8 {
                match self {
                    $( Self::$kind => $revision, )*
                }
            }

            /// What it is called.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$kind => $name, )*
                }
            }
        }
    };
}

record_kinds! {
    256 1 StartMessage "start message",
    257 1 ActivityFinishedMessage "activity message",
    258 1 TimerFiredMessage "timer message",
    259 1 SubOrchestrationFinishedMessage "sub-orchestration message",
    260 1 ExternalRaisedMessage "event message",
    261 1 PromiseSettledMessage "promise message",
    262 1 CancelMessage "cancel message",
    263 1 TerminateMessage "terminate message",
    270 1 ReceiptMessage "receipt message",
    271 1 DeadlinePassedMessage "deadline message",
    768 1 PendingStatus "pending status",
    769 1 RunningStatus "running status",
    770 1 SuspendedStatus "suspended status",
    771 1 CompletedStatus "completed status",
    772 1 FailedStatus "failed status",
    773 1 TerminatedStatus "terminated status",
    1024 1 Failure "failure",
}

impl RecordKind {
    /// The kind with this number, if this release knows it.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.number() == number)
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Defines the pair of functions for one sort of record.
macro_rules! record_functions {
    ($(
        $(#[$encode_doc:meta])* $encode:ident
        $(#[$decode_doc:meta])* $decode:ident
        $what:literal $type:ty, $write:ident, $read:ident;
    )*) => {$(
        $(#[$encode_doc])*
        pub fn $encode(value: &$type) -> Result<Vec<u8>, EncodeError> {
            let mut out = Vec::new();
            payload::record::$write(value, &mut out)?;
            Ok(out)
        }

        $(#[$decode_doc])*
        pub fn $decode(bytes: &[u8]) -> Result<$type, DecodeError> {
            let opened = envelope::open(bytes)?;
            let unknown = DecodeError::UnknownRecord { expected: $what, number: opened.kind };
            let Some(kind) = RecordKind::from_number(opened.kind) else {
                return Err(unknown);
            };
            if opened.revision != kind.revision() {
                return Err(DecodeError::UnknownRecordRevision {
                    kind,
                    newest: kind.revision(),
                    found: opened.revision,
                });
            }
            match payload::record::$read(kind, opened.payload) {
                Ok(Some(value)) => Ok(value),
                Ok(None) => Err(unknown),
                Err(fault) => Err(DecodeError::InvalidRecord {
                    kind,
                    revision: opened.revision,
                    fault,
                }),
            }
        }
    )*};
}

record_functions! {
    /// Encodes a message.
    ///
    /// # Errors
    ///
    /// [`EncodeError::RecordTooLarge`].
    ///
    /// ```
    /// use durable_core::provider::{Message, MessageBody};
    /// use durable_core::{decode_message, encode_message};
    ///
    /// let message = Message {
    ///     message_id: "m1".into(),
    ///     body: MessageBody::Cancel { reason: "too late".into() },
    /// };
    /// let bytes = encode_message(&message)?;
    /// assert_eq!(decode_message(&bytes).as_ref(), Ok(&message));
    /// # Ok::<(), durable_core::EncodeError>(())
    /// ```
    encode_message
    /// Decodes what [`encode_message`] returned, in this release or an earlier one.
    ///
    /// # Errors
    ///
    /// What is wrong with the bytes: damage, another sort of record, or a kind or
    /// revision that this release does not know.
    decode_message
    "message" Message, write_message, read_message;

    /// Encodes a status.
    ///
    /// # Errors
    ///
    /// [`EncodeError::RecordTooLarge`].
    ///
    /// ```
    /// use durable_core::provider::InstanceStatus;
    /// use durable_core::{decode_status, encode_status};
    ///
    /// let status = InstanceStatus::Completed { output: "42".into() };
    /// let bytes = encode_status(&status)?;
    /// assert_eq!(decode_status(&bytes).as_ref(), Ok(&status));
    /// # Ok::<(), durable_core::EncodeError>(())
    /// ```
    encode_status
    /// Decodes what [`encode_status`] returned, in this release or an earlier one.
    ///
    /// # Errors
    ///
    /// What is wrong with the bytes: damage, another sort of record, or a kind or
    /// revision that this release does not know.
    decode_status
    "status" InstanceStatus, write_status, read_status;

    /// Encodes a failure.
    ///
    /// # Errors
    ///
    /// [`EncodeError::RecordTooLarge`].
    encode_failure
    /// Decodes what [`encode_failure`] returned, in this release or an earlier one.
    ///
    /// # Errors
    ///
    /// What is wrong with the bytes: damage, another sort of record, or a kind or
    /// revision that this release does not know.
    decode_failure
    "failure" Failure, write_failure, read_failure;
}
