//! Executions that wait in memory for their next turn. Bounded: the one that was
//! used longest ago goes first, and is replayed when it is needed again.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use durable_core::InstanceId;
use durable_core::provider::CommitId;
use lru::LruCache;

use crate::execution::LiveExecution;

/// Executions whose instances this node does not hold.
pub(crate) struct Cache {
    executions: Option<Mutex<LruCache<InstanceId, CachedExecution>>>,
}

/// An execution, and the commit that must be the instance's last one for it to be
/// valid.
pub(crate) struct CachedExecution {
    pub(crate) live: Box<LiveExecution>,
    pub(crate) last_commit_id: Option<CommitId>,
}

impl Cache {
    /// A cache for this many executions.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            executions: NonZeroUsize::new(capacity).map(|capacity| {
                // Room is made when it is needed, so that a cache may have no bound.
                let mut executions = LruCache::unbounded();
                executions.resize(capacity);
                Mutex::new(executions)
            }),
        }
    }

    fn executions(&self) -> Option<MutexGuard<'_, LruCache<InstanceId, CachedExecution>>> {
        let executions = self.executions.as_ref()?;
        Some(executions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes an execution out, if it is there.
    pub(crate) fn take(&self, instance: &InstanceId) -> Option<CachedExecution> {
        self.executions()?.pop(instance)
    }

    /// Keeps an execution for its next turn. What it evicts is dropped after
    /// the lock is free: its code may do anything then.
    pub(crate) fn keep(&self, instance: InstanceId, cached: CachedExecution) {
        let evicted = self
            .executions()
            .and_then(|mut executions| executions.push(instance, cached));
        drop(evicted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::{RootWaker, Shared};

    #[test]
    fn a_cached_execution_is_small_since_there_are_thousands_of_them() {
        let bytes = size_of::<LiveExecution>() + size_of::<Shared>() + size_of::<RootWaker>();
        assert!(bytes <= 1_152, "{bytes} bytes");
    }
}
