//! An instance is in one session's hands only, and only the latest lease commits.

use std::collections::BTreeMap;

use durable_core::InstanceId;
use durable_core::provider::{CommitOutcome, InstanceStatus, Lease, TurnCommit};

use super::{Invariant, InvariantViolation, is_purged};
use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::Observed;

#[derive(Debug, Default)]
pub(super) struct OneOwner {
    latest: BTreeMap<InstanceId, HeldLease>,
}

/// The latest lease of an instance.
#[derive(Debug)]
struct HeldLease {
    lease: Lease,
    /// Whether it was not given back, as far as was seen.
    is_held: bool,
}

impl Invariant for OneOwner {
    fn name(&self) -> &'static str {
        "one_owner"
    }

    fn saw(
        &mut self,
        seen: &Observed<'_>,
        store: &MemoryProvider,
    ) -> Result<(), InvariantViolation> {
        match seen {
            Observed::HandedOut { ready } => self.handed_out(&ready.lease, store),
            Observed::Committed {
                turn,
                outcome: CommitOutcome::Done(_),
            } => self.committed(turn),
            Observed::Released { leases } => {
                leases.iter().for_each(|lease| self.given_back(lease));
                Ok(())
            }
            Observed::Switched { instance } => {
                if let Some(held) = self.latest.get_mut(*instance) {
                    held.is_held = false;
                }
                Ok(())
            }
            Observed::Purged { purge } => {
                let store = store.snapshot();
                for (id, held) in &mut self.latest {
                    held.is_held &= !is_purged(purge, id, &store);
                }
                Ok(())
            }
            Observed::Closed { session } => {
                for held in self.latest.values_mut() {
                    held.is_held &= held.lease.session != *session;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn look(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for (id, instance) in &snapshot.instances {
            if let Some(session) = instance.holder
                && !snapshot.sessions.contains_key(&session)
            {
                return Err(InvariantViolation::of(
                    id,
                    format!("{session} holds it and has ended"),
                ));
            }
        }
        Ok(())
    }
}

impl OneOwner {
    fn handed_out(
        &mut self,
        lease: &Lease,
        store: &MemoryProvider,
    ) -> Result<(), InvariantViolation> {
        if let Some(held) = self.latest.get(&lease.instance) {
            let before = &held.lease;
            if lease.token < before.token {
                return Err(InvariantViolation::of(
                    &lease.instance,
                    format!("token {} was given after {}", lease.token, before.token),
                ));
            }
            let is_other = lease.session != before.session;
            if is_other && held.is_held && store.snapshot().sessions.contains_key(&before.session) {
                return Err(InvariantViolation::of(
                    &lease.instance,
                    format!("{} got it while {} held it", lease.session, before.session),
                ));
            }
        }
        let held = HeldLease {
            lease: lease.clone(),
            is_held: true,
        };
        self.latest.insert(lease.instance.clone(), held);
        Ok(())
    }

    fn committed(&mut self, turn: &TurnCommit) -> Result<(), InvariantViolation> {
        let lease = &turn.lease;
        let latest = self
            .latest
            .get(&lease.instance)
            .map(|held| held.lease.token);
        if latest != Some(lease.token) {
            return Err(InvariantViolation::of(
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
