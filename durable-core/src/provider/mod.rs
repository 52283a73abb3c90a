//! The storage contract: what a provider promises, and the words it is said in.
//!
//! It stands in the core so that a provider needs no runtime. There is no I/O
//! here: time comes in as an argument, bytes are made by the codec, and the
//! meaning of what is stored belongs to the turn that committed it.

mod commit;
mod contract;
mod error;
mod lease;
mod limits;
mod message;
mod query;
mod start;
mod wake;
mod work;

pub use commit::{
    Claim, CommitId, CommitOutcome, Committed, InstanceUpdate, NextExecution, TurnCommit,
};
pub use contract::Provider;
pub use error::ProviderError;
pub use lease::{
    Lease, ReadyInstance, ReadyInstances, Release, SessionId, SessionOptions, SessionReport,
};
pub use message::{
    InboxMessage, InboxPage, InboxSeq, Message, MessageBody, OutgoingMessage, SendOutcome,
};
pub use query::{
    ExecutionRecord, HistoryPage, InstanceFilter, InstancePage, InstanceRecord, InstanceStatus,
    PurgeReport, PurgeRequest, StatusKind,
};
pub use start::{IdReuse, StartInstance, StartOutcome};
pub use wake::{WakeSeq, WakeTopic};
pub use work::{
    ClaimedWork, FiredTimers, PoisonedPage, PoisonedWork, Timer, WorkBatch, WorkItem, WorkKey,
    WorkLease, WorkResult, WorkSettlement,
};
