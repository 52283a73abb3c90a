//! The table of current payloads: one line for each kind, with its revision and its
//! fields in the order in which they are stored.
//!
//! The names of the fields are those of [`Event`]; their order and their types are
//! the format. A field that an event gains or loses does not compile here, which is
//! the reminder that its payload needs a new revision (the codec's own page says
//! how).

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::field::Frozen;
use super::parts::{
    ActivityOptionsR1, AttributeValueR1, CarriedR1, DetachedOptionsR1, FailureR1, OutcomeR1,
    ParentR1, PromiseTokenR1,
};
use super::{read, write};
use crate::codec::error::{DecodeError, EncodeError};
use crate::event::{Event, EventKind};
use crate::history::HistoryEntry;

/// Defines the frozen struct of each kind, and from the same list which one is
/// written for an event and read for a kind and its current revision.
macro_rules! payloads {
    ($(
        $kind:ident $revision:literal $frozen:ident $(<$lifetime:lifetime>)? {
            $( $(#[$meta:meta])* $field:ident: $type:ty, )*
        }
    )*) => {
        $(
            #[derive(Serialize, Deserialize)]
            struct $frozen $(<$lifetime>)? {
                $( $(#[$meta])* $field: $type, )*
            }
        )*

        /// The revision that is written for events of this kind.
        const fn newest_revision(kind: EventKind) -> u8 {
            match kind {
                $( EventKind::$kind => $revision, )*
            }
        }

        /// Appends an entry in the current revision of its kind.
        pub(in crate::codec) fn encode(
            entry: &HistoryEntry,
            out: &mut Vec<u8>,
        ) -> Result<(), EncodeError> {
            match &entry.event {
                $(
                    Event::$kind { event_id: _, $( $field, )* } => {
                        let body = $frozen { $( $field: Frozen::freeze($field), )* };
                        write(entry, $revision, body, out)
                    }
                )*
            }
        }

        /// Reads the payload of an entry of this kind and revision.
        pub(in crate::codec) fn decode(
            kind: EventKind,
            revision: u8,
            payload: &[u8],
        ) -> Result<HistoryEntry, DecodeError> {
            let entry = match (kind, revision) {
                $(
                    (EventKind::$kind, $revision) => {
                        read(payload, |event_id, $frozen { $( $field, )* }| {
                            Ok(Event::$kind { event_id, $( $field: Frozen::thaw($field)?, )* })
                        })
                    }
                )*
                _ => {
                    return Err(DecodeError::UnknownRevision {
                        kind,
                        newest: newest_revision(kind),
                        found: revision,
                    });
                }
            };
            entry.map_err(|fault| DecodeError::InvalidPayload { kind, revision, fault })
        }
    };
}

payloads! {
    OrchestrationStarted 1 OrchestrationStartedR1<'a> {
        name: &'a str,
        version: &'a str,
        input: &'a str,
        #[serde(borrow)]
        parent: Option<ParentR1<'a>>,
        #[serde(borrow)]
        carried: Option<CarriedR1<'a>>,
    }

    ActivityScheduled 1 ActivityScheduledR1<'a> {
        name: &'a str,
        input: &'a str,
        execution_id: u64,
        #[serde(borrow)]
        options: ActivityOptionsR1<'a>,
    }

    ActivityCompleted 1 ActivityCompletedR1<'a> {
        source_event_id: u64,
        result: &'a str,
    }

    ActivityFailed 1 ActivityFailedR1<'a> {
        source_event_id: u64,
        #[serde(borrow)]
        failure: FailureR1<'a>,
    }

    ActivityCancelRequested 1 ActivityCancelRequestedR1 {
        source_event_id: u64,
    }

    TimerCreated 1 TimerCreatedR1 {
        fire_at_ms: u64,
        execution_id: u64,
    }

    TimerFired 1 TimerFiredR1 {
        source_event_id: u64,
        fire_at_ms: u64,
    }

    TimerCancelled 1 TimerCancelledR1 {
        source_event_id: u64,
    }

    ExternalSubscribed 1 ExternalSubscribedR1<'a> {
        name: &'a str,
    }

    ExternalEvent 1 ExternalEventR1<'a> {
        name: &'a str,
        data: &'a str,
        message_id: &'a str,
    }

    SubOrchestrationScheduled 1 SubOrchestrationScheduledR1<'a> {
        name: &'a str,
        version: Option<&'a str>,
        instance: &'a str,
        input: &'a str,
        execution_id: u64,
    }

    SubOrchestrationCompleted 1 SubOrchestrationCompletedR1<'a> {
        source_event_id: u64,
        result: &'a str,
    }

    SubOrchestrationFailed 1 SubOrchestrationFailedR1<'a> {
        source_event_id: u64,
        #[serde(borrow)]
        failure: FailureR1<'a>,
    }

    SubOrchestrationCancelRequested 1 SubOrchestrationCancelRequestedR1 {
        source_event_id: u64,
    }

    OrchestrationChained 1 OrchestrationChainedR1<'a> {
        name: &'a str,
        version: Option<&'a str>,
        instance: &'a str,
        input: &'a str,
        #[serde(borrow)]
        options: Option<DetachedOptionsR1<'a>>,
    }

    OperationCompleted 1 OperationCompletedR1<'a> {
        name: &'a str,
        #[serde(borrow)]
        result: OutcomeR1<'a>,
    }

    StateSet 1 StateSetR1<'a> {
        key: &'a str,
        value: &'a str,
    }

    StateCleared 1 StateClearedR1<'a> {
        key: &'a str,
    }

    PromiseCreated 1 PromiseCreatedR1<'a> {
        name: &'a str,
        number: u64,
    }

    PromiseResolved 1 PromiseResolvedR1<'a> {
        source_event_id: u64,
        value: &'a str,
    }

    PromiseRejected 1 PromiseRejectedR1<'a> {
        source_event_id: u64,
        #[serde(borrow)]
        failure: FailureR1<'a>,
    }

    ExternalEventSent 1 ExternalEventSentR1<'a> {
        target: &'a str,
        name: &'a str,
        data: &'a str,
        awaits_receipt: bool,
    }

    PromiseResolutionSent 1 PromiseResolutionSentR1<'a> {
        #[serde(borrow)]
        target: PromiseTokenR1<'a>,
        #[serde(borrow)]
        resolution: OutcomeR1<'a>,
    }

    CustomStatusSet 1 CustomStatusSetR1<'a> {
        status: &'a str,
    }

    PatchMarked 1 PatchMarkedR1<'a> {
        patch_id: &'a str,
    }

    OrchestrationCancelRequested 1 OrchestrationCancelRequestedR1<'a> {
        reason: &'a str,
    }

    OrchestrationCompleted 1 OrchestrationCompletedR1<'a> {
        output: &'a str,
    }

    OrchestrationFailed 1 OrchestrationFailedR1<'a> {
        #[serde(borrow)]
        failure: FailureR1<'a>,
    }

    OrchestrationContinuedAsNew 1 OrchestrationContinuedAsNewR1<'a> {
        input: &'a str,
        version: Option<&'a str>,
    }

    OrchestrationTerminated 1 OrchestrationTerminatedR1<'a> {
        #[serde(borrow)]
        failure: FailureR1<'a>,
    }

    CustomStatusCleared 1 CustomStatusClearedR1 {}

    ExternalEventDelivered 1 ExternalEventDeliveredR1 {
        source_event_id: u64,
    }

    ExternalEventUndeliverable 1 ExternalEventUndeliverableR1<'a> {
        source_event_id: u64,
        #[serde(borrow)]
        failure: FailureR1<'a>,
    }

    AttributeSet 1 AttributeSetR1<'a> {
        name: &'a str,
        #[serde(borrow)]
        value: AttributeValueR1<'a>,
    }

    AttributeCleared 1 AttributeClearedR1<'a> {
        name: &'a str,
    }

    ExternalEventsSubscribed 1 ExternalEventsSubscribedR1<'a> {
        name: &'a str,
    }
}
