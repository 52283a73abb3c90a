//! An instance is in one session's hands only, and only the latest lease commits.

use std::collections::BTreeMap;

use durable_core::InstanceId;
use durable_core::provider::{CommitOutcome, InstanceStatus, Lease, TurnCommit};

use super::{Breach, Invariant, is_purged};
use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::Seen;

#[derive(Debug, Default)]
pub(super) struct OneOwner {
    latest: BTreeMap<InstanceId, Held>,
}

/// The latest lease of an instance.
#[derive(Debug)]
struct Held {
    lease: Lease,
    /// Whether nobody gave it back, as far as was seen.
    is_held: bool,
}

impl Invariant for OneOwner {
    fn name(&self) -> &'static str {
        "one_owner"
    }

    fn saw(&mut self, seen: &Seen<'_>, store: &MemoryProvider) -> Result<(), Breach> {
        match seen {
            Seen::HandedOut { ready, .. } => self.handed_out(&ready.lease, store),
            Seen::Committed {
                turn,
                outcome: CommitOutcome::Done(_),
            } => self.committed(turn),
            Seen::Released { leases } => {
                leases.iter().for_each(|lease| self.given_back(lease));
                Ok(())
            }
            Seen::Switched { instance } => {
                if let Some(held) = self.latest.get_mut(*instance) {
                    held.is_held = false;
                }
                Ok(())
            }
            Seen::Purged { purge } => {
                let store = store.snapshot();
                for (id, held) in &mut self.latest {
                    held.is_held &= !is_purged(purge, id, &store);
                }
                Ok(())
            }
            Seen::Closed { session } => {
                for held in self.latest.values_mut() {
                    held.is_held &= held.lease.session != *session;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn look(&mut self, snapshot: &Snapshot) -> Result<(), Breach> {
        for (id, instance) in &snapshot.instances {
            if let Some(session) = instance.holder
                && !snapshot.sessions.contains_key(&session)
            {
                return Err(Breach::of(id, format!("{session} holds it and has ended")));
            }
        }
        Ok(())
    }
}

impl OneOwner {
    fn handed_out(&mut self, lease: &Lease, store: &MemoryProvider) -> Result<(), Breach> {
        if let Some(held) = self.latest.get(&lease.instance) {
            let before = &held.lease;
            if lease.token < before.token {
                return Err(Breach::of(
                    &lease.instance,
                    format!("token {} was given after {}", lease.token, before.token),
                ));
            }
            let is_other = lease.session != before.session;
            if is_other && held.is_held && store.snapshot().sessions.contains_key(&before.session) {
                return Err(Breach::of(
                    &lease.instance,
                    format!("{} got it while {} held it", lease.session, before.session),
                ));
            }
        }
        let held = Held {
            lease: lease.clone(),
            is_held: true,
        };
        self.latest.insert(lease.instance.clone(), held);
        Ok(())
    }

    fn committed(&mut self, turn: &TurnCommit) -> Result<(), Breach> {
        let lease = &turn.lease;
        let latest = self
            .latest
            .get(&lease.instance)
            .map(|held| held.lease.token);
        if latest != Some(lease.token) {
            return Err(Breach::of(
                &lease.instance,
                format!(
                    "a turn was committed under token {}, the latest is {latest:?}",
                    lease.token
                ),
            ));
        }
        let is_suspended = matches!(turn.update.status, Some(InstanceStatus::Suspended { .. }));
        if !turn.keep_lease || is_suspended {
            self.given_back(lease);
        }
        Ok(())
    }

    fn given_back(&mut self, lease: &Lease) {
        if let Some(held) = self.latest.get_mut(&lease.instance)
            && held.lease == *lease
        {
            held.is_held = false;
        }
    }
}
