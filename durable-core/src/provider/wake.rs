//! Wake-ups: what a caller can wait for, and up to where it has seen it.

use alloc::vec::Vec;

use crate::text::{InstanceId, Name};

/// Up to where a caller has seen what happened in a store. A fetch or a start returns it,
/// a wait takes it: whatever happened in between ends the wait at once, so no wake-up is
/// lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct WakeSeq(pub u64);

/// What a caller waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WakeTopic {
    /// A free instance got a message, or an instance that this session holds did;
    /// an instance was resumed, lost its session, or was given a delay.
    Instances,
    /// Work became ready in one of these queues, or was given a delay; `None` is the
    /// default queue.
    Work(Vec<Option<Name>>),
    /// Work that this session holds was cancelled.
    Cancellations,
    /// A timer was set that is due before all others.
    Timers,
    /// This instance changed: it was started, resumed, suspended or purged, or its
    /// status, its execution, its custom status or what blocks it did.
    Instance(InstanceId),
    /// A view of this instance changed, or the instance [stopped](Self::Stop).
    Views(InstanceId),
    /// A stream of this instance has new items, or the instance [stopped](Self::Stop).
    Streams(InstanceId),
    /// This instance stopped: it completed, failed, was terminated or was suspended. That
    /// it continued as new, was resumed or changed otherwise is no stop.
    Stop(InstanceId),
}
