//! The suite: set it up in a few words, run it in one call.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use durable_core::Limits;
use durable_core::provider::{Clock, Provider};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::check::{self, Check, Needs};
use super::env::Env;
use super::failure::{CheckFailure, CheckResult};
use super::report::{CheckOutcome, CheckReport, ConformanceReport};
use super::store::{self, StoreFactory};
use super::time::StoreClock;

/// Checks a provider against every promise of the storage contract.
///
/// It needs a Tokio runtime with its timer; a multi-threaded one lets concurrent
/// calls really meet.
///
/// ```
/// use durable_testkit::{Conformance, MemoryProvider};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let suite = Conformance::at_places(MemoryProvider::new, |store, clock| async move {
///     store.handle_with_clock(clock)
/// });
/// suite.run().await.assert_ok();
/// # });
/// ```
#[must_use = "a suite does nothing until it is run"]
pub struct Conformance {
    stores: StoreFactory,
    clock: StoreClock,
    limits: Limits,
    wait_timeout: Duration,
    is_partitioned: bool,
    only: Option<Vec<String>>,
}

impl Conformance {
    /// A suite over stores that are made, fresh and empty, for one check each. They go by
    /// the clock that `make` is given; see [`clock`](Self::clock) for those that have their
    /// own. Checks that open the same store again are not run.
    pub fn new<P, Making>(make: impl Fn(Arc<dyn Clock>) -> Making + Send + Sync + 'static) -> Self
    where
        P: Provider,
        Making: Future<Output = P> + Send + 'static,
    {
        Self::over(store::opened_once(make))
    }

    /// A suite over stores that can be opened again: `place` makes a fresh and
    /// empty place (a directory, a key prefix), `open` opens the store there, with the
    /// clock that it is given.
    ///
    /// - Opened beside an open one, it is what a second process would have.
    /// - Opened after the provider was dropped without closing its sessions, it is
    ///   what a process finds after a crash. Dropping must not tidy up.
    pub fn at_places<Place, P, Opening>(
        place: impl Fn() -> Place + Send + Sync + 'static,
        open: impl Fn(Arc<Place>, Arc<dyn Clock>) -> Opening + Send + Sync + 'static,
    ) -> Self
    where
        Place: Send + Sync + 'static,
        P: Provider,
        Opening: Future<Output = P> + Send + 'static,
    {
        Self::over(store::at_places(place, open))
    }

    fn over(stores: StoreFactory) -> Self {
        Self {
            stores,
            clock: StoreClock::Virtual,
            limits: Limits::default(),
            wait_timeout: Duration::from_secs(10),
            is_partitioned: false,
            only: None,
        }
    }

    /// Which clock the stores go by: the one that they are given unless said otherwise.
    pub fn clock(mut self, clock: StoreClock) -> Self {
        self.clock = clock;
        self
    }

    /// The limits that the provider was set up with; the defaults unless said otherwise.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How long a check waits for something that must come before it fails; 10 seconds
    /// unless said otherwise.
    pub fn wait_timeout(mut self, wait_timeout: Duration) -> Self {
        self.wait_timeout = wait_timeout;
        self
    }

    /// The store is split into partitions that share no step: a commit claims work of its
    /// own partition only. What needs more is not run.
    pub fn partitioned(mut self) -> Self {
        self.is_partitioned = true;
        self
    }

    /// Runs only the checks with these names; all of them unless said otherwise.
    pub fn only(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.only = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Runs the checks, each on a fresh store: one after the other, or, where they
    /// spend their time waiting for a clock, a few at once.
    pub async fn run(self) -> ConformanceReport {
        let at_once = match self.clock {
            StoreClock::Virtual => 1,
            StoreClock::Wall { .. } => 8,
        };
        let permits = Arc::new(Semaphore::new(at_once));
        let suite = Arc::new(self);
        let mut tasks = JoinSet::new();
        for (place, check) in check::all().enumerate() {
            if suite.is_wanted(&check) {
                let (suite, permits) = (Arc::clone(&suite), Arc::clone(&permits));
                tasks.spawn(async move {
                    // The semaphore is never closed, so there is a permit to come.
                    let _permit = permits.acquire().await;
                    let outcome = suite.run_check(check).await;
                    (place, CheckReport::new(&check, outcome))
                });
            }
        }
        let mut checks = tasks.join_all().await;
        checks.sort_by_key(|(place, _)| *place);
        ConformanceReport {
            checks: checks.into_iter().map(|(_, report)| report).collect(),
        }
    }

    fn is_wanted(&self, check: &Check) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|names| names.iter().any(|name| name == check.name))
    }

    /// What keeps a check from being run.
    fn lack(&self, needs: Needs) -> Option<&'static str> {
        match needs {
            Needs::OpenAgain if !(self.stores)().opens_again => {
                Some("the store cannot be opened again")
            }
            Needs::VirtualClock if !self.clock.is_virtual() => {
                Some("the store has a clock of its own")
            }
            Needs::OnePartition if self.is_partitioned => {
                Some("a commit claims work of its own partition only")
            }
            Needs::OpenAgain | Needs::VirtualClock | Needs::OnePartition => None,
        }
    }

    async fn run_check(&self, check: Check) -> CheckOutcome {
        if let Some(reason) = check.needs.iter().find_map(|needs| self.lack(*needs)) {
            return CheckOutcome::NotRun { reason };
        }
        let stores = Arc::clone(&self.stores);
        let env = Env::open(stores, self.clock, self.limits, self.wait_timeout).await;
        match self.run_isolated(check, env).await {
            Ok(()) => CheckOutcome::Kept,
            Err(failure) => CheckOutcome::Broken(failure),
        }
    }

    /// Runs a check as a task of its own: a provider that panics breaks that check
    /// and no other, and one that hangs is given up.
    async fn run_isolated(&self, check: Check, env: Env) -> CheckResult {
        const WAITS_IN_A_CHECK: u32 = 12;
        let task = tokio::spawn((check.run)(env));
        let abort = task.abort_handle();
        let bound = self.wait_timeout * WAITS_IN_A_CHECK;
        match tokio::time::timeout(bound, task).await {
            Ok(Ok(checked)) => checked,
            Ok(Err(error)) => Err(CheckFailure::new("the check", "an end", error.to_string())),
            Err(_) => {
                abort.abort();
                Err(CheckFailure::new(
                    "the check",
                    format!("an end within {bound:?}"),
                    "a call that does not return",
                ))
            }
        }
    }
}

impl fmt::Debug for Conformance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conformance")
            .field("clock", &self.clock)
            .field("limits", &self.limits)
            .field("wait_timeout", &self.wait_timeout)
            .field("is_partitioned", &self.is_partitioned)
            .field("only", &self.only)
            .finish_non_exhaustive()
    }
}
