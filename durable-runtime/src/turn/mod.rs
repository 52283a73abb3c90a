//! A turn: messages in, one commit out.
//!
//! Each message is one step: it is appended as an input, the code runs to its
//! rest, its outputs are appended, and only then the next message is taken. What
//! a step emitted becomes part of the commit when the step is whole; a step that
//! fails leaves nothing.

mod batch;
mod live;
mod messages;
mod past;

use durable_core::provider::{InboxMessage, WorkKey, WorkLease};
use durable_core::{Failure, Payload};

pub(crate) use batch::{Batch, Header, Tail};
pub(crate) use live::Live;
pub(crate) use past::Past;

/// Something that reached an instance.
#[derive(Debug, Clone)]
pub(crate) enum Arrival {
    /// A message from the inbox.
    Message(InboxMessage),
    /// The result of an activity that ran on this node.
    Result(LocalResult),
    /// An activity that ran on this node gave its result, or its retry, to the
    /// store.
    Settled(WorkKey),
}

/// The result of an activity that travels in memory. Until it is committed its
/// work item stays in this session's hands.
#[derive(Debug, Clone)]
pub(crate) struct LocalResult {
    pub(crate) lease: WorkLease,
    pub(crate) result: Result<Payload, Failure>,
}
