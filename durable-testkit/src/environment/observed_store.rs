//! What outlives the nodes of an environment: the store, what was recorded, and what
//! is still to happen at some event.
//!
//! Nothing here serves a node: that is
//! [`ObservingProvider`](super::observing_provider::ObservingProvider), which asks here what
//! is due.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable_core::provider::{
    Message, MessageBody, Provider, ProviderError, SessionId, StatusKind, TurnCommit, WorkKey,
};
use durable_core::{ExecutionId, Failure, HistoryEntry, InstanceId};
use tokio::sync::{Notify, mpsc};

use super::gate::Gate;
use super::scheduler::Chosen;
use super::trigger::{AtEvent, name_of};
use crate::{MemoryProvider, TokioClock};

/// So many times in a row the node is given a chance to do something before it is
/// taken to have nothing to do.
const CHANCES: usize = 64;

/// What happens when a trigger fires.
#[derive(Debug, Clone)]
pub(super) enum TriggeredAction {
    /// The node dies before the event is stored.
    CrashBefore,
    /// The node dies after the event is stored, and never learns that it is.
    CrashAfter,
    /// The instance is told something.
    Tell(Message),
}

/// An entry that was recorded.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub(super) instance: InstanceId,
    pub(super) execution_id: ExecutionId,
    pub(super) entry: HistoryEntry,
}

/// What outlives the nodes of an environment.
#[derive(Debug)]
pub(super) struct ObservedStore {
    pub(super) store: MemoryProvider,
    /// Where things wait, if a scheduler chooses their order.
    pub(super) gate: Option<Arc<Gate>>,
    /// The node made a call.
    pub(super) news: Notify,
    /// Rises with every call that the node makes: while it does, something happens.
    pub(super) calls: AtomicU64,
    state: Mutex<Observations>,
    crashes: mpsc::UnboundedSender<()>,
}

/// What was seen so far, and what is still to happen.
#[derive(Debug, Default)]
pub(super) struct Observations {
    pub(super) recorded: Vec<Recorded>,
    pub(super) actions: Vec<(AtEvent, TriggeredAction)>,
    pub(super) crashes: u64,
    pub(super) chosen: Vec<Chosen>,
    pub(super) session: Option<SessionId>,
}

impl ObservedStore {
    pub(super) fn new(
        clock: TokioClock,
        gate: Option<Arc<Gate>>,
        crashes: mpsc::UnboundedSender<()>,
    ) -> Self {
        Self {
            store: MemoryProvider::with_clock(clock),
            gate,
            news: Notify::new(),
            calls: AtomicU64::new(0),
            state: Mutex::default(),
            crashes,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, Observations> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node dies; another one will be started.
    pub(super) async fn crash(&self) -> Result<(), ProviderError> {
        let session = {
            let mut state = self.state();
            state.crashes += 1;
            state.session.take()
        };
        if let Some(gate) = &self.gate {
            gate.state().forget_work();
        }
        if let Some(session) = session {
            self.end(session).await?;
        }
        // Without a receiver the environment is gone, and its node with it.
        let _ = self.crashes.send(());
        Ok(())
    }

    /// Ends a session as a store does that notices a dead process at once: what it
    /// held is to run again, with or without a message.
    async fn end(&self, session: SessionId) -> Result<(), ProviderError> {
        let snapshot = self.store.snapshot();
        self.store.close_session(session).await?;
        for (id, instance) in snapshot.instances {
            let is_stopped = instance.record.status.kind() == StatusKind::Suspended;
            if instance.holder == Some(session) && !is_stopped {
                let reason = Failure::application("crash", "its node died");
                let _ = self.store.suspend(&id, reason).await?;
                let _ = self.store.resume(&id).await?;
            }
        }
        Ok(())
    }

    /// Lets everything happen that happens without time passing.
    pub(super) async fn settle(&self) {
        let mut before = None;
        loop {
            let calls = self.calls.load(Ordering::Relaxed);
            if before.replace(calls) == Some(calls) {
                return;
            }
            for _ in 0..CHANCES {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Adds an action for when the trigger fires.
    pub(super) fn when(&self, trigger: AtEvent, action: TriggeredAction) {
        self.state().actions.push((trigger, action));
    }

    /// Whether the node is to die before this result is stored, in whatever way.
    pub(super) fn is_in_vain(&self, call: &WorkKey) -> bool {
        let mut state = self.state();
        let is_meant = |(trigger, _): &(AtEvent, TriggeredAction)| trigger.is_result_of(call);
        let place = state.actions.iter().position(is_meant);
        place.map(|place| state.actions.remove(place)).is_some()
    }

    /// The actions whose trigger fires with these entries, before they are stored
    /// or after.
    pub(super) fn due(
        &self,
        entries: &[Recorded],
        is_stored: bool,
    ) -> Vec<(InstanceId, TriggeredAction)> {
        let mut due = Vec::new();
        let mut state = self.state();
        let Observations {
            actions, recorded, ..
        } = &mut *state;
        for entry in entries {
            actions.retain_mut(|(trigger, action)| {
                let is_meant = matches!(action, TriggeredAction::CrashBefore) != is_stored;
                let named = |entry| name_of(entry, &mut recorded.iter().chain(entries));
                let fires = is_meant && trigger.fires(entry, named);
                if fires {
                    due.push((entry.instance.clone(), action.clone()));
                }
                !fires
            });
        }
        due
    }
}

/// What a turn records, of its execution and of the next one.
pub(super) fn entries_of(turn: &TurnCommit) -> Vec<Recorded> {
    let of = |execution_id, entries: &[HistoryEntry]| -> Vec<Recorded> {
        let recorded = |entry: &HistoryEntry| Recorded {
            instance: turn.lease.instance.clone(),
            execution_id,
            entry: entry.clone(),
        };
        entries.iter().map(recorded).collect()
    };
    let mut recorded = of(turn.execution_id, &turn.events);
    if let Some(next) = &turn.next_execution {
        recorded.extend(of(next.execution_id, &next.events));
    }
    recorded
}

/// A message that an environment sends.
pub(super) fn message(number: u64, body: MessageBody) -> Message {
    Message {
        message_id: format!("environment-{number}").into(),
        body,
    }
}
