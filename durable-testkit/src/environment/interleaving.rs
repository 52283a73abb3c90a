//! Searching for an order of things that breaks what a test asserts.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::builder::{TestEnvironmentBuilder, cannot};
use super::env::TestEnvironment;
use super::scheduler::{Choices, Chosen, Then};
use crate::random::Random;

/// So many runs are spent on finding a simpler order that also fails.
const SHRINKING: usize = 200;

/// Runs a test again and again, each time in another order of things: which of the
/// activities that are ready runs next, whether a timer fires before, and when an
/// event comes that was raised with
/// [`raise_sometime`](TestEnvironment::raise_sometime).
///
/// The first order is the natural one. When the test fails in some order, simpler
/// ones are tried, and the simplest that fails is reported as a list.
///
/// ```
/// use durable_runtime::{Activity, Failure, Orchestration, OrchestrationContext, Registry};
/// use durable_testkit::{Interleavings, TestEnvironment};
///
/// const FETCH: Activity<u64, u64> = Activity::new("fetch");
/// const SUM: Orchestration<(), u64> = Orchestration::new("sum");
///
/// async fn sum(ctx: OrchestrationContext, _: ()) -> Result<u64, Failure> {
///     let (a, b) = futures::join!(ctx.activity(FETCH, &1), ctx.activity(FETCH, &2));
///     Ok(a? + b?)
/// }
///
/// let registry = Registry::builder().orchestration(SUM, sum).build()?;
/// let env = TestEnvironment::builder(registry)
///     .replace_activity(FETCH, |number| async move { Ok(number) });
/// Interleavings::of(env).cases(20).check(async |env| {
///     let sum = env.start(SUM, "sum-1", &()).await.unwrap();
///     assert_eq!(env.wait(&sum).await.unwrap(), 3);
/// });
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing runs before `check` or `search`"]
pub struct Interleavings {
    environment: TestEnvironmentBuilder,
    cases: usize,
    seed: u64,
    crashes: usize,
}

/// An order of things in which a test fails.
///
/// See the example of [`Interleavings::crashes`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterleavingFailure {
    /// The seed of the case that failed first.
    pub seed: u64,
    /// What to give to [`Interleavings::replay`] to see it again.
    pub choices: Vec<usize>,
    /// What happened, in its order.
    pub order: Vec<String>,
    /// What the test said.
    pub message: String,
}

/// One run of the test.
struct Case {
    chosen: Vec<Chosen>,
    failure: Option<String>,
}

impl Interleavings {
    /// Searches in environments of this kind.
    pub fn of(environment: TestEnvironmentBuilder) -> Self {
        Self {
            environment,
            cases: 100,
            seed: 0,
            crashes: 0,
        }
    }

    /// How many orders are tried; 100 unless it is set.
    pub fn cases(mut self, cases: usize) -> Self {
        self.cases = cases;
        self
    }

    /// From which number the orders are drawn. The same number, the same orders.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How many times the node may die in each case, at a point that is chosen like
    /// everything else: also when an activity has run and its result is not stored,
    /// so that it runs again. Never unless it is set.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use durable_runtime::{Activity, Failure, Orchestration, OrchestrationContext, Registry};
    /// use durable_testkit::{Interleavings, TestEnvironment};
    ///
    /// const CHARGE: Activity<u64, ()> = Activity::new("charge");
    /// const ORDER: Orchestration<u64, ()> = Orchestration::new("order");
    ///
    /// async fn order(ctx: OrchestrationContext, price: u64) -> Result<(), Failure> {
    ///     ctx.activity(CHARGE, &price).await
    /// }
    ///
    /// static CHARGED: AtomicU64 = AtomicU64::new(0);
    ///
    /// let registry = Registry::builder().orchestration(ORDER, order).build()?;
    /// // It has no idea that it may be called again.
    /// let env = TestEnvironment::builder(registry).replace_activity(CHARGE, |price| async move {
    ///     CHARGED.fetch_add(price, Ordering::Relaxed);
    ///     Ok(())
    /// });
    /// let charged_once = async |env: &TestEnvironment| {
    ///     CHARGED.store(0, Ordering::Relaxed);
    ///     let order = env.start(ORDER, "order-7", &7).await.unwrap();
    ///     env.wait(&order).await.unwrap();
    ///     assert_eq!(CHARGED.load(Ordering::Relaxed), 7);
    /// };
    /// Interleavings::of(env.clone()).check(charged_once);
    /// let failure = Interleavings::of(env).crashes(1).search(charged_once).unwrap_err();
    /// assert_eq!(
    ///     failure.order,
    ///     [
    ///         "activity `charge` of `order-7` runs (event 2), and the node dies before its \
    ///          result is stored",
    ///         "activity `charge` of `order-7` runs (event 2)",
    ///     ]
    /// );
    /// # Ok::<(), durable_runtime::RegistryError>(())
    /// ```
    pub fn crashes(mut self, most: usize) -> Self {
        self.crashes = most;
        self
    }

    /// Runs the test in all orders; panics with the simplest in which it fails.
    #[track_caller]
    pub fn check(&self, test: impl AsyncFn(&TestEnvironment)) {
        if let Err(failure) = self.search(test) {
            cannot::<()>(&*failure);
        }
    }

    /// Runs the test in all orders.
    ///
    /// # Errors
    ///
    /// The simplest order in which the test fails.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a closure is written where it is passed"
    )]
    pub fn search(
        &self,
        test: impl AsyncFn(&TestEnvironment),
    ) -> Result<(), Box<InterleavingFailure>> {
        for case in 0..self.cases {
            let seed = self.seed.wrapping_add(case as u64);
            let then = if case == 0 {
                Then::TheFirst
            } else {
                Then::AtRandom(Random::new(seed))
            };
            let ran = self.run(Vec::new(), then, &test);
            if ran.failure.is_some() {
                return Err(Box::new(self.simplest(seed, ran, &test)));
            }
        }
        Ok(())
    }

    /// Runs the test once, in the order of a failure.
    ///
    /// # Errors
    ///
    /// The failure, if the test fails again.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a closure is written where it is passed"
    )]
    pub fn replay(
        &self,
        choices: &[usize],
        test: impl AsyncFn(&TestEnvironment),
    ) -> Result<(), Box<InterleavingFailure>> {
        let ran = self.run(choices.to_vec(), Then::TheFirst, &test);
        match failure_of(self.seed, ran) {
            Some(failure) => Err(Box::new(failure)),
            None => Ok(()),
        }
    }

    /// Fewer departures from the natural order, as long as the test fails: first
    /// the end of the choices is cut off, then single ones are undone.
    fn simplest(
        &self,
        seed: u64,
        found: Case,
        test: &impl AsyncFn(&TestEnvironment),
    ) -> InterleavingFailure {
        let mut best = found;
        let mut runs = 0;
        let mut attempt = |best: &mut Case, choices: Vec<usize>| -> bool {
            runs += 1;
            if runs > SHRINKING || choices == indices(best) {
                return false;
            }
            let ran = self.run(choices, Then::TheFirst, test);
            let is_simpler = ran.failure.is_some();
            if is_simpler {
                *best = ran;
            }
            is_simpler
        };
        for length in 0..best.chosen.len() {
            let choices = indices(&best)[..length].to_vec();
            if attempt(&mut best, choices) {
                break;
            }
        }
        let mut place = 0;
        while place < best.chosen.len() {
            let mut choices = indices(&best);
            while choices.last() == Some(&0) {
                choices.pop();
            }
            if choices.get(place).is_some_and(|index| *index != 0) {
                choices[place] = 0;
                attempt(&mut best, choices);
            }
            place += 1;
        }
        failure_of(seed, best).unwrap_or_else(|| InterleavingFailure {
            seed,
            choices: Vec::new(),
            order: Vec::new(),
            message: String::new(),
        })
    }

    fn run(
        &self,
        prescribed: Vec<usize>,
        then: Then,
        test: &impl AsyncFn(&TestEnvironment),
    ) -> Case {
        let choices = Choices {
            prescribed,
            then,
            crashes: self.crashes,
        };
        let mut chosen = Vec::new();
        let environment = self.environment.clone().scheduler(choices);
        let result = catch_unwind(AssertUnwindSafe(|| {
            environment.run_noting(test, |made| chosen = made);
        }));
        Case {
            chosen,
            failure: result.err().map(|panic| message_of(panic.as_ref())),
        }
    }
}

fn indices(case: &Case) -> Vec<usize> {
    case.chosen.iter().map(|chosen| chosen.index).collect()
}

fn failure_of(seed: u64, case: Case) -> Option<InterleavingFailure> {
    let mut choices = indices(&case);
    while choices.last() == Some(&0) {
        choices.pop();
    }
    Some(InterleavingFailure {
        seed,
        choices,
        message: case.failure?,
        order: case.chosen.into_iter().map(|chosen| chosen.what).collect(),
    })
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".into())
}

impl fmt::Display for InterleavingFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the test fails when things happen in this order:")?;
        for (number, what) in self.order.iter().enumerate() {
            writeln!(f, "{:>4}. {what}", number + 1)?;
        }
        writeln!(f, "to see it again: `.replay(&{:?}, …)`", self.choices)?;
        writeln!(f, "found with seed {}", self.seed)?;
        f.write_str(&self.message)
    }
}

impl std::error::Error for InterleavingFailure {}
