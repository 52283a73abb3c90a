//! The instances that have a task on this node, and how to reach the tasks.
//!
//! A lease is known by its token, which rises with every claim. The store can give an
//! instance to this node again while the task of the claim before is still cleaning up,
//! so the token decides which task is meant:
//!
//! ```text
//! (unknown) ──claimed──▶ Active ──releasing──▶ Releasing ──released──▶ Released ──▶ (unknown)
//!                          └────────────────────────────────released─────▲
//! ```
//!
//! Messages that came with a lease that is being released are dropped here: the store
//! delivers them again with the next lease. A fetch that was in flight when a lease was
//! released may still bring it; a later one cannot.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use durable_core::InstanceId;
use durable_core::provider::Lease;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::Incoming;

/// The instances that have a task. What they get is boxed: a channel makes room for
/// many, and an instance seldom gets more than one at a time.
#[derive(Debug, Default)]
pub(crate) struct InstanceTasks {
    known: Mutex<KnownTasks>,
}

#[derive(Debug, Default)]
struct KnownTasks {
    tasks: HashMap<InstanceId, KnownTask>,
    /// The instances whose leases were released since the last fetch began.
    released: Vec<InstanceId>,
}

#[derive(Debug)]
struct KnownTask {
    token: u64,
    stage: TaskStage,
}

#[derive(Debug)]
enum TaskStage {
    /// The task holds the lease and takes what comes in.
    Active(UnboundedSender<Box<Incoming>>),
    /// The lease is on its way to the store.
    Releasing,
    /// The store has the lease again, and the answer to a fetch may not know it yet.
    Released,
}

impl InstanceTasks {
    fn known(&self) -> MutexGuard<'_, KnownTasks> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A fetch begins: it cannot bring a lease that was released before.
    pub(crate) fn fetch_begins(&self) {
        let known = &mut *self.known();
        for instance in known.released.drain(..) {
            let task = known.tasks.get(&instance);
            if task.is_some_and(|task| matches!(task.stage, TaskStage::Released)) {
                known.tasks.remove(&instance);
            }
        }
    }

    /// An instance was claimed. If it has no task yet, one is to be started with this
    /// channel; if it has, what came with the claim is passed on to the task.
    pub(crate) fn claimed(
        &self,
        lease: &Lease,
        incoming: &[Incoming],
    ) -> Option<UnboundedReceiver<Box<Incoming>>> {
        let mut known = self.known();
        if let Some(task) = known.tasks.get(&lease.instance) {
            match &task.stage {
                _ if task.token > lease.token => return None,
                // The lease before this one is gone, and so is its task.
                _ if task.token < lease.token => {}
                TaskStage::Releasing | TaskStage::Released => return None,
                TaskStage::Active(channel) => {
                    let mut incoming = incoming.iter().cloned();
                    if incoming.all(|one| channel.send(Box::new(one)).is_ok()) {
                        return None;
                    }
                }
            }
        }
        let (channel, receiver) = mpsc::unbounded_channel();
        let task = KnownTask {
            token: lease.token,
            stage: TaskStage::Active(channel),
        };
        known.tasks.insert(lease.instance.clone(), task);
        Some(receiver)
    }

    /// Passes something to the task of an instance; gives it back if there is none.
    pub(crate) fn forward(
        &self,
        instance: &InstanceId,
        incoming: Box<Incoming>,
    ) -> Result<(), Box<Incoming>> {
        let channel = match self.known().tasks.get(instance) {
            Some(KnownTask {
                stage: TaskStage::Active(channel),
                ..
            }) => channel.clone(),
            _ => return Err(incoming),
        };
        channel.send(incoming).map_err(|unsent| unsent.0)
    }

    /// The lease is on its way to the store.
    pub(crate) fn releasing(&self, lease: &Lease) {
        self.known().move_to(lease, TaskStage::Releasing);
    }

    /// The store has the lease again.
    pub(crate) fn released(&self, lease: &Lease) {
        let mut known = self.known();
        known.move_to(lease, TaskStage::Released);
        known.released.push(lease.instance.clone());
    }
}

impl KnownTasks {
    fn move_to(&mut self, lease: &Lease, stage: TaskStage) {
        if let Some(task) = self.tasks.get_mut(&lease.instance)
            && task.token == lease.token
        {
            task.stage = stage;
        }
    }
}
