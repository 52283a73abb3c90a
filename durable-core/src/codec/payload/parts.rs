//! The frozen forms of what events carry besides plain fields.
//!
//! None of these structs ever changes: a new shape is a new struct with the next
//! number in its name.

use serde::{Deserialize, Serialize};

use super::field::{Frozen, List};
use crate::attribute::{AttributeValue, Attributes};
use crate::codec::error::PayloadFault;
use crate::event::{Carried, Parent, UnreadEvent};
use crate::failure::{Failure, FailureKind};
use crate::id::PromiseToken;
use crate::options::{ActivityOptions, RetryPolicy};
use crate::text::{Name, Payload};
use crate::trace::TraceParent;

/// Defines a frozen struct whose fields have the names of the public one's. A field
/// that the public type gains or loses does not compile here.
macro_rules! frozen_struct {
    ($(
        $public:ident as $frozen:ident $(<$lifetime:lifetime>)? {
            $( $(#[$meta:meta])* $field:ident: $type:ty, )*
        }
    )*) => {$(
        #[derive(Serialize, Deserialize)]
        pub(super) struct $frozen $(<$lifetime>)? {
            $( $(#[$meta])* $field: $type, )*
        }

        impl<'a> Frozen<'a, $public> for $frozen $(<$lifetime>)? {
            fn freeze(value: &'a $public) -> Self {
                let $public { $( $field, )* } = value;
                Self { $( $field: Frozen::freeze($field), )* }
            }

            fn thaw(self) -> Result<$public, PayloadFault> {
                Ok($public { $( $field: Frozen::thaw(self.$field)?, )* })
            }
        }
    )*};
}

frozen_struct! {
    Parent as ParentR1<'a> {
        instance: &'a str,
        execution_id: u64,
        event_id: u64,
    }

    Carried as CarriedR1<'a> {
        #[serde(borrow)]
        state: List<(&'a str, &'a str)>,
        custom_status: Option<&'a str>,
        #[serde(borrow)]
        unread_events: List<UnreadEventR1<'a>>,
        #[serde(borrow)]
        read_message_ids: List<&'a str>,
        cancel_reason: Option<&'a str>,
        #[serde(borrow)]
        attributes: AttributesR1<'a>,
        trace_parent: Option<TraceParentR1>,
    }

    UnreadEvent as UnreadEventR1<'a> {
        name: &'a str,
        data: &'a str,
        message_id: &'a str,
    }

    RetryPolicy as RetryPolicyR1 {
        max_attempts: u32,
        first_backoff_ms: u64,
        backoff_percent: u32,
        max_backoff_ms: u64,
        jitter_percent: u32,
    }

    PromiseToken as PromiseTokenR1<'a> {
        instance: &'a str,
        execution_id: u64,
        number: u64,
    }

    Failure as FailureR1<'a> {
        #[serde(borrow)]
        kind: FailureKindR1<'a>,
        message: &'a str,
        details: Option<&'a str>,
        retryable: bool,
    }
}

/// A position in a trace.
#[derive(Serialize, Deserialize)]
pub(super) struct TraceParentR1 {
    trace_id: u128,
    span_id: u64,
    flags: u8,
}

impl Frozen<'_, TraceParent> for TraceParentR1 {
    fn freeze(value: &TraceParent) -> Self {
        Self {
            trace_id: value.trace_id(),
            span_id: value.span_id(),
            flags: value.flags(),
        }
    }

    fn thaw(self) -> Result<TraceParent, PayloadFault> {
        TraceParent::new(self.trace_id, self.span_id, self.flags)
            .ok_or(PayloadFault::InvalidTraceParent)
    }
}

/// How an activity is run.
#[derive(Serialize, Deserialize)]
pub(super) struct ActivityOptionsR1<'a> {
    #[serde(borrow)]
    placement: PlacementR1<'a>,
    retry: RetryPolicyR1,
    attempt_timeout_ms: Option<u64>,
    total_timeout_ms: Option<u64>,
}

/// The queue of an activity, and the trace that it belongs to: a call without a trace takes
/// no byte for it. The order of the variants is on disk.
#[derive(Serialize, Deserialize)]
enum PlacementR1<'a> {
    DefaultQueue,
    Queue(&'a str),
    Traced {
        queue: Option<&'a str>,
        trace_parent: TraceParentR1,
    },
}

impl<'a> Frozen<'a, ActivityOptions> for ActivityOptionsR1<'a> {
    fn freeze(value: &'a ActivityOptions) -> Self {
        let ActivityOptions {
            queue,
            retry,
            attempt_timeout_ms,
            total_timeout_ms,
            trace_parent,
        } = value;
        let placement = match (queue, trace_parent) {
            (None, None) => PlacementR1::DefaultQueue,
            (Some(queue), None) => PlacementR1::Queue(queue.as_str()),
            (queue, Some(trace_parent)) => PlacementR1::Traced {
                queue: Frozen::freeze(queue),
                trace_parent: Frozen::freeze(trace_parent),
            },
        };
        Self {
            placement,
            retry: Frozen::freeze(retry),
            attempt_timeout_ms: *attempt_timeout_ms,
            total_timeout_ms: *total_timeout_ms,
        }
    }

    fn thaw(self) -> Result<ActivityOptions, PayloadFault> {
        let (queue, trace_parent) = match self.placement {
            PlacementR1::DefaultQueue => (None, None),
            PlacementR1::Queue(queue) => (Some(Name::from(queue)), None),
            PlacementR1::Traced {
                queue,
                trace_parent,
            } => (Frozen::thaw(queue)?, Some(trace_parent.thaw()?)),
        };
        Ok(ActivityOptions {
            queue,
            retry: Frozen::thaw(self.retry)?,
            attempt_timeout_ms: self.attempt_timeout_ms,
            total_timeout_ms: self.total_timeout_ms,
            trace_parent,
        })
    }
}

/// The value of an attribute. The order of the variants is on disk.
#[derive(Serialize, Deserialize)]
pub(super) enum AttributeValueR1<'a> {
    #[serde(borrow)]
    Text(&'a str),
    Integer(i64),
    Time(i64),
    Bool(bool),
}

impl<'a> Frozen<'a, AttributeValue> for AttributeValueR1<'a> {
    fn freeze(value: &'a AttributeValue) -> Self {
        match value {
            AttributeValue::Text(text) => Self::Text(text),
            AttributeValue::Integer(number) => Self::Integer(*number),
            AttributeValue::Time(time_ms) => Self::Time(*time_ms),
            AttributeValue::Bool(truth) => Self::Bool(*truth),
        }
    }

    fn thaw(self) -> Result<AttributeValue, PayloadFault> {
        Ok(match self {
            Self::Text(text) => AttributeValue::Text(text.into()),
            Self::Integer(number) => AttributeValue::Integer(number),
            Self::Time(time_ms) => AttributeValue::Time(time_ms),
            Self::Bool(truth) => AttributeValue::Bool(truth),
        })
    }
}

/// Attributes, by name.
pub(super) type AttributesR1<'a> = List<(&'a str, AttributeValueR1<'a>)>;

impl<'a> Frozen<'a, Attributes> for AttributesR1<'a> {
    fn freeze(value: &'a Attributes) -> Self {
        let attributes = value.iter();
        Self(
            attributes
                .map(|(name, value)| (Frozen::freeze(name), Frozen::freeze(value)))
                .collect(),
        )
    }

    fn thaw(self) -> Result<Attributes, PayloadFault> {
        self.0.into_iter().map(Frozen::thaw).collect()
    }
}

/// The value of something that may fail. The order of the variants is on disk.
#[derive(Serialize, Deserialize)]
pub(super) enum OutcomeR1<'a> {
    #[serde(borrow)]
    Ok(&'a str),
    #[serde(borrow)]
    Err(FailureR1<'a>),
}

impl<'a> Frozen<'a, Result<Payload, Failure>> for OutcomeR1<'a> {
    fn freeze(value: &'a Result<Payload, Failure>) -> Self {
        match value {
            Ok(payload) => Self::Ok(Frozen::freeze(payload)),
            Err(failure) => Self::Err(Frozen::freeze(failure)),
        }
    }

    fn thaw(self) -> Result<Result<Payload, Failure>, PayloadFault> {
        Ok(match self {
            Self::Ok(payload) => Ok(Frozen::thaw(payload)?),
            Self::Err(failure) => Err(Frozen::thaw(failure)?),
        })
    }
}

/// A kind of failure as a code that is never given to another kind, and the name
/// that the user gave to a kind of their own.
#[derive(Serialize, Deserialize)]
struct FailureKindR1<'a> {
    code: u16,
    name: Option<&'a str>,
}

const APPLICATION: u16 = 1;

/// The codes of the kinds that have no name.
macro_rules! failure_codes {
    ($( $code:literal $kind:ident, )*) => {
        impl<'a> Frozen<'a, FailureKind> for FailureKindR1<'a> {
            fn freeze(value: &'a FailureKind) -> Self {
                let code = match value {
                    FailureKind::Application(name) => {
                        return Self { code: APPLICATION, name: Some(name.as_str()) };
                    }
                    $( FailureKind::$kind => $code, )*
                };
                Self { code, name: None }
            }

            fn thaw(self) -> Result<FailureKind, PayloadFault> {
                Ok(match (self.code, self.name) {
                    (APPLICATION, Some(name)) => FailureKind::Application(Name::from(name)),
                    $( ($code, None) => FailureKind::$kind, )*
                    (code, _) => return Err(PayloadFault::UnknownFailureKind { code }),
                })
            }
        }
    };
}

failure_codes! {
    2 Timeout,
    3 Cancelled,
    4 Panicked,
    5 Poisoned,
    6 Terminated,
    7 DeterminismViolation,
    8 CorruptHistory,
    9 NotRegistered,
    10 InstanceExists,
    11 InvalidPayload,
    12 LimitExceeded,
    13 Suspended,
    14 PayloadCodec,
    15 Storage,
}
