//! The trace that an instance belongs to: a W3C `traceparent`.

use alloc::format;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::Name;

/// A position in a distributed trace, as the [`traceparent`] header of W3C Trace Context has it:
/// what an instance was started for, so that its turns, its activities and its children can be
/// shown in the trace of the caller.
///
/// A clone is a counter, not a copy.
///
/// ```
/// use durable_core::TraceParent;
///
/// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let parent: TraceParent = header.parse().unwrap();
/// assert_eq!(parent.trace_id(), 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
/// assert_eq!(parent.span_id(), 0x00f0_67aa_0ba9_02b7);
/// assert!(parent.is_sampled());
/// assert_eq!(parent.to_string(), header);
///
/// // A trace without an id is none.
/// assert!("00-00000000000000000000000000000000-00f067aa0ba902b7-01".parse::<TraceParent>().is_err());
/// ```
///
/// [`traceparent`]: https://www.w3.org/TR/trace-context/#traceparent-header
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TraceParent(Arc<Position>);

#[derive(PartialEq, Eq, Hash)]
struct Position {
    trace_id: u128,
    span_id: u64,
    flags: u8,
}

impl TraceParent {
    /// The bit of the flags that says that the trace is recorded.
    const SAMPLED: u8 = 1;

    /// The span of this trace; `None` if one of the ids is zero, which means none.
    pub fn new(trace_id: u128, span_id: u64, flags: u8) -> Option<Self> {
        (trace_id != 0 && span_id != 0).then(|| {
            Self(Arc::new(Position {
                trace_id,
                span_id,
                flags,
            }))
        })
    }

    /// The trace; never zero.
    pub fn trace_id(&self) -> u128 {
        self.0.trace_id
    }

    /// The span of the caller; never zero.
    pub fn span_id(&self) -> u64 {
        self.0.span_id
    }

    /// The flags as they were received.
    pub fn flags(&self) -> u8 {
        self.0.flags
    }

    /// Whether the caller records the trace.
    pub fn is_sampled(&self) -> bool {
        self.flags() & Self::SAMPLED != 0
    }
}

/// The header: version 00.
impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position {
            trace_id,
            span_id,
            flags,
        } = &*self.0;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{flags:02x}")
    }
}

impl fmt::Debug for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceParent({self})")
    }
}

/// The text is no `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidTraceParent;

impl fmt::Display for InvalidTraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a trace parent has the form `00-<32 digits>-<16 digits>-<2 digits>`, in lower-case \
             hexadecimal, with ids that are not zero",
        )
    }
}

impl core::error::Error for InvalidTraceParent {}

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    /// Reads a header. Of a version after 00 the parts that version 00 has are taken, as the
    /// specification asks.
    fn from_str(text: &str) -> Result<Self, InvalidTraceParent> {
        let mut parts = text.splitn(5, '-');
        let mut part = |digits| {
            let part = parts.next().filter(|part| part.len() == digits);
            part.and_then(hexadecimal).ok_or(InvalidTraceParent)
        };
        let (version, trace_id, span_id, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        let is_of_version = match version {
            0 => parts.next().is_none(),
            other => other != 0xff,
        };
        let span_id = u64::try_from(span_id).map_err(|_| InvalidTraceParent)?;
        let flags = u8::try_from(flags).map_err(|_| InvalidTraceParent)?;
        Self::new(trace_id, span_id, flags)
            .filter(|_| is_of_version)
            .ok_or(InvalidTraceParent)
    }
}

/// The number that lower-case digits write.
fn hexadecimal(digits: &str) -> Option<u128> {
    let is_canonical = digits
        .bytes()
        .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    is_canonical
        .then(|| u128::from_str_radix(digits, 16).ok())
        .flatten()
}

impl Serialize for TraceParent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceParent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Name::deserialize(deserializer)?;
        text.parse()
            .map_err(|fault| D::Error::custom(format!("{fault}: {text}")))
    }
}
