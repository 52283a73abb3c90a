//! Who holds which instance on this node, and how to reach them.
//!
//! A lease is known by its token, which rises with every hand-out. An instance can
//! be handed out again while the task that held it before is still tidying up, so
//! the token decides who is meant:
//!
//! ```text
//! (unknown) ──take_over──▶ Active ──return_soon──▶ Returning ──let_go──▶ Gone ──▶ (unknown)
//!                            └──────────────────────────────────let_go─────▲
//! ```
//!
//! Messages that were given under a lease that is on its way back are dropped here:
//! the store gives them again under the next lease. A fetch that was under way when
//! a lease went back may still bring it; a later one cannot.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use durable_core::InstanceId;
use durable_core::provider::Lease;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::turn::Arrival;

/// Who holds which instance. Arrivals are boxed: a channel makes room for many, and an
/// instance seldom gets more than one at a time.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    holders: HashMap<InstanceId, Holder>,
    /// The instances whose leases went back since the last fetch began.
    gone: Vec<InstanceId>,
}

#[derive(Debug)]
struct Holder {
    token: u64,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// A task holds it and takes what arrives.
    Active(UnboundedSender<Box<Arrival>>),
    /// Its lease is being given back.
    Returning,
    /// The store has the lease again, and the answer to a fetch may not know it yet.
    Gone,
}

impl Holders {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A fetch begins: it cannot bring a lease that went back before.
    pub(crate) fn fetch_begins(&self) {
        let known = &mut *self.known();
        for instance in known.gone.drain(..) {
            let holder = known.holders.get(&instance);
            if holder.is_some_and(|holder| matches!(holder.stage, Stage::Gone)) {
                known.holders.remove(&instance);
            }
        }
    }

    /// An instance was handed out. If it is new in this node's hands its holder is
    /// to be started with this channel; if not, what came with it is passed on.
    pub(crate) fn take_over(
        &self,
        lease: &Lease,
        arrivals: &[Arrival],
    ) -> Option<UnboundedReceiver<Box<Arrival>>> {
        let mut known = self.known();
        if let Some(holder) = known.holders.get(&lease.instance) {
            match &holder.stage {
                _ if holder.token > lease.token => return None,
                // The lease before this one is gone, and so is its holder.
                _ if holder.token < lease.token => {}
                Stage::Returning | Stage::Gone => return None,
                Stage::Active(channel) => {
                    let mut arrivals = arrivals.iter().cloned();
                    if arrivals.all(|arrival| channel.send(Box::new(arrival)).is_ok()) {
                        return None;
                    }
                }
            }
        }
        let (channel, receiver) = mpsc::unbounded_channel();
        let holder = Holder {
            token: lease.token,
            stage: Stage::Active(channel),
        };
        known.holders.insert(lease.instance.clone(), holder);
        Some(receiver)
    }

    /// Hands an arrival to the holder of its instance; gives it back if there is none.
    pub(crate) fn forward(&self, instance: &InstanceId, arrival: Arrival) -> Result<(), Arrival> {
        let channel = match self.known().holders.get(instance) {
            Some(Holder {
                stage: Stage::Active(channel),
                ..
            }) => channel.clone(),
            _ => return Err(arrival),
        };
        let sent = channel.send(Box::new(arrival));
        sent.map_err(|unsent| *unsent.0)
    }

    /// The lease is on its way to the store.
    pub(crate) fn return_soon(&self, lease: &Lease) {
        self.known().move_to(lease, Stage::Returning);
    }

    /// The store has the lease again.
    pub(crate) fn let_go(&self, lease: &Lease) {
        let mut known = self.known();
        known.move_to(lease, Stage::Gone);
        known.gone.push(lease.instance.clone());
    }
}

impl Known {
    fn move_to(&mut self, lease: &Lease, stage: Stage) {
        if let Some(holder) = self.holders.get_mut(&lease.instance)
            && holder.token == lease.token
        {
            holder.stage = stage;
        }
    }
}
