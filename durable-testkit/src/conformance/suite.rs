//! The suite: set it up in a few words, run it in one call.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use durable_core::Limits;
use durable_core::provider::Provider;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::check::{self, Check, Needs};
use super::clock::Clock;
use super::env::Env;
use super::failure::{CheckFailure, CheckResult};
use super::report::{CheckOutcome, CheckReport, ConformanceReport};
use super::store::{self, StoreFactory};

/// Checks a provider against every promise of the storage contract.
///
/// It needs a Tokio runtime with its timer; a multi-threaded one lets concurrent
/// calls really meet.
///
/// ```
/// use durable_testkit::{Conformance, MemoryProvider};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// Conformance::at_places(MemoryProvider::new, |store| async move { (*store).clone() })
///     .run()
///     .await
///     .assert_ok();
/// # });
/// ```
#[must_use = "a suite does nothing until it is run"]
pub struct Conformance {
    stores: StoreFactory,
    clock: Clock,
    limits: Limits,
    wait_timeout: Duration,
    is_partitioned: bool,
    only: Option<Vec<String>>,
}

impl Conformance {
    /// A suite over stores that are made, fresh and empty, for one check each.
    /// Checks that open the same store again are not run.
    pub fn new<P, Making>(make: impl Fn() -> Making + Send + Sync + 'static) -> Self
    where
        P: Provider,
        Making: Future<Output = P> + Send + 'static,
    {
        Self::over(store::opened_once(make))
    }

    /// A suite over stores that can be opened again: `place` makes a fresh and
    /// empty place (a directory, a key prefix), `open` opens the store there.
    ///
    /// - Opened beside an open one, it is what a second process would have.
    /// - Opened after the provider was dropped without closing its sessions, it is
    ///   what a process finds after a crash. Dropping must not tidy up.
    pub fn at_places<Place, P, Opening>(
        place: impl Fn() -> Place + Send + Sync + 'static,
        open: impl Fn(Arc<Place>) -> Opening + Send + Sync + 'static,
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
            clock: Clock::Virtual,
            limits: Limits::default(),
            wait_timeout: Duration::from_secs(10),
            is_partitioned: false,
            only: None,
        }
    }

    /// Whose time the store goes by; the caller's unless said otherwise.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The limits that the provider was set up with.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How long a check waits for something that must come before it fails.
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

    /// Runs only the checks with these names.
    pub fn only(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.only = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Runs the checks, each on a fresh store: one after the other, or, where they
    /// spend their time waiting for a clock, a few at once.
    pub async fn run(self) -> ConformanceReport {
        let at_once = match self.clock {
            Clock::Virtual => 1,
            Clock::Wall { .. } => 8,
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

    async fn run_check(&self, check: Check) -> CheckOutcome {
        match check.needs {
            Needs::OpenAgain if !(self.stores)().opens_again => {
                return CheckOutcome::NotRun {
                    reason: "the store cannot be opened again",
                };
            }
            Needs::VirtualClock if self.clock != Clock::Virtual => {
                return CheckOutcome::NotRun {
                    reason: "the store has a clock of its own",
                };
            }
            Needs::OnePartition if self.is_partitioned => {
                return CheckOutcome::NotRun {
                    reason: "a commit claims work of its own partition only",
                };
            }
            _ => {}
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
