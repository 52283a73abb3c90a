//! The waker of the root future. It tells apart what wakes it: the step that is being
//! driven, the recorded side effect that executes, or something that is not durable.
//!
//! Invariants: a wake-up of the executing side effect is never lost and never
//! taken for a non-durable one; one that comes after the side effect has ended means
//! nothing, so that the root is polled as often as in a replay.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::thread::ThreadId;

use durable_core::InstanceId;
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use super::stop_request::{StopCause, StopRequest};

/// Wakes the root future of one execution.
#[derive(Debug)]
pub(crate) struct RootWaker {
    instance: InstanceId,
    state: Mutex<WakeState>,
    /// Told when the executing side effect wakes the root.
    run_progress: Notify,
    /// Told when something that is not durable wakes the root.
    stop_requests: Option<UnboundedSender<StopRequest>>,
}

#[derive(Debug, Default)]
struct WakeState {
    /// The root is to be polled.
    woken: bool,
    /// The thread that drives a step right now.
    driver: Option<ThreadId>,
    /// The side effect that executes.
    run: Option<RunNumber>,
    runs_begun: u64,
    /// The executing side effect is to be polled.
    run_woken: bool,
    /// Threads on which a side effect is waking the code that polls it, right now.
    waking_for_run: Vec<ThreadId>,
    /// The execution is over or being dropped: what its parts wake means nothing.
    retired: bool,
    /// Something that is not durable woke the root.
    non_durable: bool,
}

/// Which side effect of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RunNumber(u64);

impl RootWaker {
    pub(crate) fn new(
        instance: InstanceId,
        stop_requests: Option<UnboundedSender<StopRequest>>,
    ) -> Self {
        Self {
            instance,
            state: Mutex::default(),
            run_progress: Notify::new(),
            stop_requests,
        }
    }

    fn state(&self) -> MutexGuard<'_, WakeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This thread drives a step from here on.
    pub(crate) fn begin(&self) {
        self.state().driver = Some(std::thread::current().id());
    }

    /// The step is over, or waits for a side effect.
    pub(crate) fn pause(&self) {
        self.state().driver = None;
    }

    /// From now on wake-ups mean nothing.
    pub(crate) fn retire(&self) {
        self.state().retired = true;
    }

    /// Has the root polled.
    pub(crate) fn mark_woken(&self) {
        self.state().woken = true;
    }

    /// Whether the root is to be polled.
    pub(crate) fn is_woken(&self) -> bool {
        let state = self.state();
        state.woken || state.run_woken
    }

    /// Whether the root is to be polled; asking takes the wake-up.
    pub(crate) fn take_woken(&self) -> bool {
        let mut state = self.state();
        let is_run_woken = std::mem::take(&mut state.run_woken);
        std::mem::take(&mut state.woken) || is_run_woken
    }

    /// Whether something that is not durable woke the root.
    pub(crate) fn was_woken_non_durably(&self) -> bool {
        self.state().non_durable
    }

    /// Waits until the executing side effect wakes the root.
    pub(crate) async fn run_progress(&self) {
        loop {
            let notified = self.run_progress.notified();
            if self.is_woken() {
                return;
            }
            notified.await;
        }
    }

    /// Something that is not the orchestration uses its parts.
    pub(crate) fn report_non_durable_use(&self) {
        self.non_durable_wake(self.state());
    }

    fn non_durable_wake(&self, mut state: MutexGuard<'_, WakeState>) {
        if state.retired || state.non_durable {
            return;
        }
        state.non_durable = true;
        drop(state);
        if let Some(stop_requests) = &self.stop_requests {
            let request = StopRequest {
                instance: self.instance.clone(),
                cause: StopCause::NonDurableWake,
            };
            // The receiver is gone when the node has shut down.
            let _ = stop_requests.send(request);
        }
    }

    fn wake_for_run(&self, run: RunNumber, waker: &Waker) {
        let mut state = self.state();
        if state.run != Some(run) {
            return;
        }
        let thread = std::thread::current().id();
        state.waking_for_run.push(thread);
        drop(state);
        waker.wake_by_ref();
        let mut state = self.state();
        if let Some(index) = state.waking_for_run.iter().rposition(|id| *id == thread) {
            state.waking_for_run.swap_remove(index);
        }
    }
}

impl Wake for RootWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.state();
        let thread = std::thread::current().id();
        if state.waking_for_run.contains(&thread) {
            if state.run.is_some() {
                state.run_woken = true;
                drop(state);
                self.run_progress.notify_one();
            }
        } else if state.driver == Some(thread) {
            state.woken = true;
        } else {
            self.non_durable_wake(state);
        }
    }
}

/// A side effect that executes, until it has ended or is dropped.
#[derive(Debug)]
pub(crate) struct Executing {
    root: Arc<RootWaker>,
    run: RunNumber,
}

impl Executing {
    pub(crate) fn begin(root: &Arc<RootWaker>) -> Self {
        let mut state = root.state();
        let run = RunNumber(state.runs_begun);
        state.runs_begun += 1;
        state.run = Some(run);
        drop(state);
        Self {
            root: Arc::clone(root),
            run,
        }
    }

    /// What the side effect is to wake: the code that polls it, in its name.
    pub(crate) fn waker(&self, polled_by: &Waker) -> Waker {
        Waker::from(Arc::new(RunWaker {
            root: Arc::clone(&self.root),
            run: self.run,
            polled_by: polled_by.clone(),
        }))
    }
}

impl Drop for Executing {
    fn drop(&mut self) {
        let mut state = self.root.state();
        if state.run == Some(self.run) {
            state.run = None;
            state.run_woken = false;
        }
    }
}

/// Wakes the code that polls a side effect, in the name of that side effect.
struct RunWaker {
    root: Arc<RootWaker>,
    run: RunNumber,
    polled_by: Waker,
}

impl Wake for RunWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.root.wake_for_run(self.run, &self.polled_by);
    }
}
