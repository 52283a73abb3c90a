//! The storage contract: what a provider promises, and the words it is said in.
//!
//! It stands in the core so that a provider needs no runtime. There is no I/O
//! here: the store has its own clock, bytes are made by the codec, and the meaning of
//! what is stored belongs to the turn that committed it.

mod change;
mod clock;
mod code;
mod commit;
mod contract;
mod error;
mod layer;
mod lease;
mod limits;
mod message;
mod methods;
mod open_work;
mod query;
mod receipt;
mod registry;
mod start;
mod validate;
mod wake;
mod work;

pub use change::Change;
#[cfg(feature = "std")]
pub use clock::SystemClock;
pub use clock::{Clock, ClockHold, StoreTime};
pub use code::{RequiredCode, ServedCode};
pub use commit::{
    Claim, CommitId, CommitOutcome, Committed, CustomStatusUpdate, InstanceUpdate, NextExecution,
    TurnCommit,
};
pub use contract::Provider;
pub use error::ProviderError;
pub use layer::{Layer, Layered};
pub use lease::{
    Lease, ReadyInstance, ReadyInstances, Release, SessionId, SessionOptions, SessionRecord,
};
pub use message::{
    InboxMessage, InboxPage, InboxSeq, Message, MessageBody, OutgoingMessage, SendOutcome,
};
pub use open_work::{OpenActivity, OpenTimer, OpenWorkPage, WorkState};
pub use query::{
    ExecutionRecord, HistoryPage, InstanceFilter, InstancePage, InstanceRecord, InstanceStatus,
    PruneReport, PruneRequest, PurgeReport, PurgeRequest, StatusKind,
};
pub use receipt::{ReceiptRequest, ReceiptWhen};
pub use registry::{WaitForChange, WakeRegistry, WakeSource};
pub use start::{IdReuse, StartInstance, StartOutcome};
pub use wake::{WakeSeq, WakeTopic};
pub use work::{
    CancelledWork, ClaimedWork, FiredTimers, HeartbeatOutcome, NewWork, PoisonedPage, PoisonedWork,
    SettleOutcome, SourceEvent, WorkBatch, WorkItem, WorkKey, WorkLease, WorkResult,
    WorkSettlement,
};

/// What a method of the contract answers.
#[doc(hidden)]
pub type Answer<T> = Result<T, ProviderError>;
