//! The core of durable execution: events, codec, cursor and storage contract.
//!
//! An *orchestration* is an `async fn` whose progress survives crashes. Every fact
//! it learns and every decision it takes is an [`Event`] in a history; after a crash
//! the function is run again over that history and goes on where it was. This crate
//! is what that stands on. It reads no clock, takes no lock, and has no I/O, no random
//! numbers and no future executor: time is an argument, and its driver (the runtime, the
//! replay tester, a simulation) does what it decides.
//!
//! # The pieces
//!
//! - [`Event`], [`HistoryEntry`], [`History`]: what is recorded. An [`EventId`] is a
//!   position, 1, 2, 3, … without gaps, and the only correlation id there is: a
//!   completion names the event that asked for it in `source_event_id`.
//! - [`Cursor`]: one strict position in one history. It replays what is recorded,
//!   compares it with what the code does now, and appends what is new. What does not
//!   fit is a [`Violation`] (the code changed) or a [`Corruption`] (the history cannot
//!   be), both as data.
//! - [`encode_entry`], [`decode_entry`]: the bytes of an entry, checksummed and
//!   versioned.
//! - [`provider`]: the contract that storage keeps, with what each method must hold.
//!
//! # A history
//!
//! ```text
//! 1 OrchestrationStarted                     input: what the code is told
//! 2 ActivityScheduled                        output: what it does with it
//! 3 TimerCreated                             output
//! 4 ActivityCompleted   source_event_id 2    input
//! 5 TimerCancelled      source_event_id 3    output
//! 6 OrchestrationCompleted                   terminal
//! ```
//!
//! One input, then every output that the code emits before it can go no further:
//! that is a *step*, and a history is a list of steps, in the true order of cause and
//! effect.
//!
//! # `no_std`
//!
//! The crate is always `no_std` and needs `alloc`. The feature `std` (on by default)
//! switches its dependencies to their `std` paths and adds
//! [`SystemClock`](provider::SystemClock) for stores.

#![no_std]

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

/// What the lists of macros name types by.
#[doc(hidden)]
pub mod __alloc {
    pub use alloc::{sync, vec};
}

mod attribute;
mod codec;
mod command;
mod corruption;
mod cursor;
mod event;
mod failure;
mod history;
mod id;
mod limits;
mod options;
mod payloads;
pub mod provider;
mod text;
mod trace;
mod violation;

pub use attribute::{
    AttributeKind, AttributeNameFault, AttributeValue, Attributes, attribute_name_fault,
};
pub use codec::{
    DecodeError, EncodeError, MAX_ENTRY_BYTES, PayloadFault, RecordKind, decode_entry,
    decode_failure, decode_message, decode_status, encode_entry, encode_entry_into, encode_failure,
    encode_message, encode_status,
};
pub use command::{Command, Ending, OneWayCommand};
pub use corruption::{Corruption, HistoryFault, SourceFault};
pub use cursor::{
    ActivityDeadline, Advance, AppendedEntry, Cursor, CursorError, Delivery, DropReason, Grant,
    LeftOpen, OpKey, OpPoll, Outcome,
};
pub use event::{
    Carried, Effect, Event, EventClass, EventKind, InstanceStart, Parent, UnreadEvent,
};
pub use failure::{Failure, FailureKind};
pub use history::{History, HistoryEntry};
pub use id::{
    CommandId, CommandKind, CommandNumbering, EventId, ExecutionId, InvalidPromiseToken,
    PromiseToken,
};
pub use limits::{LimitError, Limits};
pub use options::{ActivityOptions, RetryPolicy};
pub use payloads::{PayloadMut, VisitPayloads};
pub use text::{InstanceId, MessageId, Name, Payload, Version};
pub use trace::{InvalidTraceParent, TraceParent};
pub use violation::{Difference, Violation, ViolationHint};
