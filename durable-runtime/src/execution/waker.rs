//! The waker of the root future. It also notices wake-ups that cannot come from
//! anything durable.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::thread::ThreadId;

use durable_core::InstanceId;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

/// Wakes the root future of one execution.
#[derive(Debug)]
pub(crate) struct RootWaker {
    instance: InstanceId,
    state: Mutex<State>,
    /// Told when a recorded side effect wakes the root.
    run_woken: Notify,
    /// Told when something foreign wakes the root between steps.
    foreign_wakes: Option<UnboundedSender<InstanceId>>,
}

#[derive(Debug, Default)]
struct State {
    /// The root is to be polled.
    woken: bool,
    /// The thread that drives a step right now.
    driver: Option<ThreadId>,
    /// A recorded side effect is pending and may wake the root from anywhere.
    run_pending: bool,
    /// Side effects were executed here: what they left behind may still wake the
    /// root, which means nothing.
    had_runs: bool,
    /// The execution is being dropped: what its parts wake means nothing.
    retired: bool,
    /// Something foreign woke the root.
    foreign: bool,
}

impl RootWaker {
    pub(crate) fn new(
        instance: InstanceId,
        foreign_wakes: Option<UnboundedSender<InstanceId>>,
    ) -> Self {
        Self {
            instance,
            state: Mutex::default(),
            run_woken: Notify::new(),
            foreign_wakes,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This thread drives a step from here on.
    pub(crate) fn begin(&self) {
        let mut state = self.state();
        state.driver = Some(std::thread::current().id());
        state.run_pending = false;
    }

    /// The step is over, or waits for a side effect.
    pub(crate) fn pause(&self, run_pending: bool) {
        let mut state = self.state();
        state.driver = None;
        state.run_pending = run_pending;
        state.had_runs |= run_pending;
    }

    /// From now on wake-ups mean nothing.
    pub(crate) fn retire(&self) {
        self.state().retired = true;
    }

    /// Whether the root is to be polled; asking takes the wake-up.
    pub(crate) fn take_woken(&self) -> bool {
        std::mem::take(&mut self.state().woken)
    }

    /// Has the root polled.
    pub(crate) fn mark_woken(&self) {
        self.state().woken = true;
    }

    /// Whether something foreign woke the root.
    pub(crate) fn was_woken_by_foreigner(&self) -> bool {
        self.state().foreign
    }

    /// Waits until the pending side effect wakes the root.
    pub(crate) async fn run_progress(&self) {
        loop {
            let notified = self.run_woken.notified();
            if self.state().woken {
                return;
            }
            notified.await;
        }
    }
}

impl Wake for RootWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.state();
        if state.driver == Some(std::thread::current().id()) {
            state.woken = true;
        } else if state.run_pending {
            state.woken = true;
            drop(state);
            self.run_woken.notify_one();
        } else if !state.had_runs && !state.retired {
            state.foreign = true;
            drop(state);
            if let Some(foreign_wakes) = &self.foreign_wakes {
                // Nobody listens any more when the node has shut down.
                let _ = foreign_wakes.send(self.instance.clone());
            }
        }
    }
}
