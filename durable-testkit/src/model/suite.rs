//! The model test: set it up in a few words, run it in one call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use durable_core::provider::{Clock, Provider};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tokio::runtime::Runtime;

use super::leases::Pair;
use super::run::Play;
use super::script::ModelScript;
use super::strategy;
use crate::conformance::{StoreClock, TestTime};
use crate::memory::MemoryProvider;

/// Plays random scripts against a provider and against [`MemoryProvider`].
///
/// It runs on a Tokio runtime of its own: call it from a plain test, not from an
/// asynchronous one.
///
/// ```
/// use durable_testkit::{MemoryProvider, ModelTest};
///
/// ModelTest::new(|clock| async { MemoryProvider::with_clock(clock) })
///     .cases(20)
///     .run()
///     .unwrap();
/// ```
#[must_use = "a test does nothing until it is run"]
pub struct ModelTest {
    make: MakeProvider,
    clock: StoreClock,
    is_partitioned: bool,
    cases: u32,
    max_steps: usize,
    seed: u64,
}

type MakeProvider = Box<dyn Fn(Arc<dyn Clock>) -> Pin<Box<dyn Future<Output = Box<dyn Provider>>>>>;

impl ModelTest {
    /// A test over stores that are made, fresh and empty, for one script each. They go by
    /// the clock that `make` is given; see [`clock`](Self::clock) for those that have their
    /// own.
    pub fn new<P, Making>(make: impl Fn(Arc<dyn Clock>) -> Making + 'static) -> Self
    where
        P: Provider,
        Making: Future<Output = P> + 'static,
    {
        let make: MakeProvider = Box::new(move |clock| {
            let making = make(clock);
            Box::pin(async move {
                let provider: Box<dyn Provider> = Box::new(making.await);
                provider
            })
        });
        Self {
            make,
            clock: StoreClock::Virtual,
            is_partitioned: false,
            cases: 256,
            max_steps: 40,
            seed: 0,
        }
    }

    /// Which clock the stores go by: the one that they are given unless said otherwise.
    /// With a clock of the store's own, scripts do not let time pass.
    pub fn clock(mut self, clock: StoreClock) -> Self {
        self.clock = clock;
        self
    }

    /// The store is split into partitions that share no step: commits of scripts claim no
    /// work, because they could only claim that of their own partition, and an answer need not
    /// count receipts.
    pub fn partitioned(mut self) -> Self {
        self.is_partitioned = true;
        self
    }

    /// How many scripts are played; 256 unless said otherwise.
    pub fn cases(mut self, cases: u32) -> Self {
        self.cases = cases;
        self
    }

    /// The most calls in a script; 40 unless said otherwise.
    pub fn max_steps(mut self, max_steps: usize) -> Self {
        self.max_steps = max_steps;
        self
    }

    /// Which scripts are drawn: the same seed draws the same ones; 0 unless said otherwise.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Plays the scripts.
    ///
    /// # Errors
    ///
    /// The first script on which the two sides differ, shortened as far as it goes.
    pub fn run(self) -> Result<(), Box<ModelFailure>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| ModelFailure::of_harness(error.to_string()))?;
        let config = Config {
            cases: self.cases,
            failure_persistence: None,
            ..Config::default()
        };
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let drawn = strategy::script(self.max_steps);
        let result = runner.run(&drawn, |script| {
            let played = self.play(&runtime, &script);
            played.map_err(|divergence| TestCaseError::fail(divergence.to_string()))
        });
        match result {
            Ok(()) => Ok(()),
            Err(TestError::Fail(_, script)) => match self.play(&runtime, &script) {
                Err(divergence) => Err(Box::new(ModelFailure { script, divergence })),
                Ok(()) => Err(ModelFailure::of_harness("a failure came once only".into())),
            },
            Err(TestError::Abort(reason)) => Err(ModelFailure::of_harness(reason.to_string())),
        }
    }

    fn play(&self, runtime: &Runtime, script: &ModelScript) -> Result<(), Divergence> {
        let time = TestTime::new(self.clock);
        let model = MemoryProvider::with_clock(time.given());
        runtime.block_on(async {
            let provider = (self.make)(time.given()).await;
            let sides = Pair {
                model: &model as &dyn Provider,
                provider: &*provider,
            };
            let play = Play::new(sides, time, self.is_partitioned);
            play.play(script).await
        })
    }
}

impl fmt::Debug for ModelTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelTest")
            .field("clock", &self.clock)
            .field("is_partitioned", &self.is_partitioned)
            .field("cases", &self.cases)
            .field("max_steps", &self.max_steps)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// A script on which a provider and the model differ.
///
/// ```
/// use async_trait::async_trait;
/// use durable_core::provider::{FiredTimers, Layer, Layered, Provider, ProviderError};
/// use durable_testkit::{MemoryProvider, ModelTest};
///
/// /// A store whose timers never fire.
/// struct Sleepy(MemoryProvider);
///
/// #[async_trait]
/// impl Layer for Sleepy {
///     type Inner = MemoryProvider;
///
///     fn inner(&self) -> &MemoryProvider {
///         &self.0
///     }
///
///     async fn fire_timers(&self, _: usize) -> Result<FiredTimers, ProviderError> {
///         self.0.fire_timers(0).await
///     }
/// }
///
/// let sleepy = |clock| Layered(Sleepy(MemoryProvider::with_clock(clock)));
/// let test = ModelTest::new(move |clock| async move { sleepy(clock) });
/// let failure = test.run().unwrap_err();
/// assert_ne!(failure.divergence.model, failure.divergence.provider);
/// assert!(failure.to_string().contains(&failure.script.to_string()));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ModelFailure {
    /// The shortest script that was found.
    pub script: ModelScript,
    /// Where they differ.
    pub divergence: Divergence,
}

/// Two answers that should be equal.
///
/// See the example of [`ModelFailure`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Which call of the script.
    pub step: usize,
    /// The call.
    pub call: String,
    /// What the model answered.
    pub model: String,
    /// What the provider answered.
    pub provider: String,
}

impl ModelFailure {
    /// The test itself could not be run.
    fn of_harness(reason: String) -> Box<Self> {
        Box::new(Self {
            script: ModelScript(Vec::new()),
            divergence: Divergence {
                step: 0,
                call: "playing scripts".into(),
                model: "an end".into(),
                provider: reason,
            },
        })
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "call {}: {}", self.step, self.call)?;
        writeln!(f, "the model answers:\n{}", self.model)?;
        write!(f, "the provider answers:\n{}", self.provider)
    }
}

impl fmt::Display for ModelFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the provider and the model differ\n\n{}", self.script)?;
        fmt::Display::fmt(&self.divergence, f)
    }
}

/// As [`Display`](fmt::Display): a test that fails prints it, and people read it.
impl fmt::Debug for ModelFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ModelFailure {}
