//! The table of messages: one row for each kind of record, with its fields in the order
//! in which they are stored.
//!
//! The names of the fields are those of the bodies of messages; their order and their
//! types are the format. Before them stands the id of the message. A field that a body
//! gains or loses does not compile here, which is the reminder that its payload needs a
//! new revision.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::field::Frozen;
use super::super::parse;
use super::super::parts::{AttributesR1, FailureR1, OutcomeR1, ParentR1, TraceParentR1};
use super::{Read, write};
use crate::codec::error::EncodeError;
use crate::codec::record::RecordKind;
use crate::provider::{Message, MessageBody, StartInstance};

/// Defines the frozen struct of each kind, and from the same list which one is written
/// for a body and read for a kind. The body in a row is both: the pattern that takes the
/// fields out, and the expression that makes it of them.
macro_rules! messages {
    ($(
        $kind:ident $frozen:ident for $body:tt {
            $( $(#[$meta:meta])* $field:ident: $type:ty, )*
        }
    )*) => {
        $(
            #[derive(Serialize, Deserialize)]
            struct $frozen<'a> {
                message_id: &'a str,
                $( $(#[$meta])* $field: $type, )*
            }
        )*

        /// Appends a message.
        pub(in crate::codec) fn write_message(
            message: &Message,
            out: &mut Vec<u8>,
        ) -> Result<(), EncodeError> {
            let message_id = Frozen::freeze(&message.message_id);
            match &message.body {
                $(
                    messages!(@body $body) => {
                        let frozen = $frozen { message_id, $( $field: Frozen::freeze($field), )* };
                        write(RecordKind::$kind, &frozen, out)
                    }
                )*
            }
        }

        /// Reads a message.
        pub(in crate::codec) fn read_message(kind: RecordKind, payload: &[u8]) -> Read<Message> {
            let (message_id, body) = match kind {
                $(
                    RecordKind::$kind => {
                        let $frozen { message_id, $( $field, )* } = parse(payload)?;
                        $( let $field = Frozen::thaw($field)?; )*
                        (message_id, messages!(@body $body))
                    }
                )*
                _ => return Ok(None),
            };
            let message_id = Frozen::thaw(message_id)?;
            Ok(Some(Message { message_id, body }))
        }
    };
    (@body ($( $body:tt )*)) => {
        $( $body )*
    };
}

messages! {
    StartMessage StartMessageR1
    for (MessageBody::Start(StartInstance { name, version, input, parent, attributes, trace_parent })) {
        name: &'a str,
        version: Option<&'a str>,
        input: &'a str,
        #[serde(borrow)]
        parent: Option<ParentR1<'a>>,
        #[serde(borrow)]
        attributes: AttributesR1<'a>,
        trace_parent: Option<TraceParentR1>,
    }

    ActivityFinishedMessage ActivityFinishedMessageR1
    for (MessageBody::ActivityFinished { execution_id, source_event_id, result }) {
        execution_id: u64,
        source_event_id: u64,
        #[serde(borrow)]
        result: OutcomeR1<'a>,
    }

    TimerFiredMessage TimerFiredMessageR1
    for (MessageBody::TimerFired { execution_id, source_event_id, fire_at_ms }) {
        execution_id: u64,
        source_event_id: u64,
        fire_at_ms: u64,
    }

    SubOrchestrationFinishedMessage SubOrchestrationFinishedMessageR1
    for (MessageBody::SubOrchestrationFinished { execution_id, source_event_id, result }) {
        execution_id: u64,
        source_event_id: u64,
        #[serde(borrow)]
        result: OutcomeR1<'a>,
    }

    ExternalRaisedMessage ExternalRaisedMessageR1
    for (MessageBody::ExternalRaised { name, data }) {
        name: &'a str,
        data: &'a str,
    }

    PromiseSettledMessage PromiseSettledMessageR1
    for (MessageBody::PromiseSettled { execution_id, number, resolution }) {
        execution_id: u64,
        number: u64,
        #[serde(borrow)]
        resolution: OutcomeR1<'a>,
    }

    CancelMessage CancelMessageR1
    for (MessageBody::Cancel { reason }) {
        reason: &'a str,
    }

    TerminateMessage TerminateMessageR1
    for (MessageBody::Terminate { failure }) {
        #[serde(borrow)]
        failure: FailureR1<'a>,
    }
}
