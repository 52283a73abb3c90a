//! Setting an environment up.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use durable_core::Failure;
use durable_core::provider::Layered;
use durable_runtime::{
    ActivityContext, ActivityRef, Registry, RegistryError, Runtime, RuntimeOptions,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::env::TestEnvironment;
use super::error::EnvironmentError;
use super::gate::Gate;
use super::observed_store::ObservedStore;
use super::observing_provider::ObservingProvider;
use super::scheduler::{Choices, Chosen, run_scheduler};
use crate::TokioClock;

/// How long an instance is waited for.
const WAIT_TIMEOUT: Duration = Duration::from_secs(400 * 86_400);
/// Virtual months have no heartbeats and no idle looks, so that they take no time.
const A_YEAR: Duration = Duration::from_secs(365 * 86_400);

/// Sets a [`TestEnvironment`] up.
///
/// ```
/// # use std::time::Duration;
/// use durable_runtime::{Activity, Failure, Orchestration, OrchestrationContext, Registry};
/// use durable_testkit::TestEnvironment;
///
/// const CHARGE: Activity<u64, String> = Activity::new("charge");
/// const ORDER: Orchestration<u64, String> = Orchestration::new("order");
///
/// async fn order(ctx: OrchestrationContext, price: u64) -> Result<String, Failure> {
///     ctx.activity(CHARGE, &price).await
/// }
///
/// let registry = Registry::builder().orchestration(ORDER, order).build()?;
/// TestEnvironment::builder(registry)
///     .replace_activity_with(CHARGE, |ctx, price| async move {
///         Ok(format!("{price} paid as {}", ctx.idempotency_key()))
///     })
///     .wait_timeout(Duration::from_secs(60))
///     .run(async |env| {
///         let order = env.start(ORDER, "order-7", &7).await.unwrap();
///         assert_eq!(env.wait(&order).await.unwrap(), "7 paid as order-7/1/2");
///     });
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "an environment is had by `run` or `build`"]
pub struct TestEnvironmentBuilder {
    registry: Registry,
    error: Option<RegistryError>,
    options: RuntimeOptions,
    wait_timeout: Duration,
    choices: Option<Choices>,
}

impl TestEnvironmentBuilder {
    pub(super) fn new(registry: Registry) -> Self {
        let options = RuntimeOptions::default()
            .session_timeout(A_YEAR)
            .max_poll_interval(A_YEAR)
            .verify_replay(true);
        Self {
            registry,
            error: None,
            options,
            wait_timeout: WAIT_TIMEOUT,
            choices: None,
        }
    }

    /// Has this closure run in the place of an activity, registered or not.
    pub fn replace_activity<I, O, F, R>(self, activity: impl ActivityRef<I, O>, code: F) -> Self
    where
        F: Fn(I) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, Failure>> + Send + 'static,
        I: DeserializeOwned + Send + 'static,
        O: Serialize + 'static,
    {
        self.replace_activity_with(activity, move |_, input| code(input))
    }

    /// As [`replace_activity`](Self::replace_activity), for a closure that looks at
    /// its context: the attempt, the idempotency key, a cancellation.
    pub fn replace_activity_with<I, O, F, R>(
        mut self,
        activity: impl ActivityRef<I, O>,
        code: F,
    ) -> Self
    where
        F: Fn(ActivityContext, I) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, Failure>> + Send + 'static,
        I: DeserializeOwned + Send + 'static,
        O: Serialize + 'static,
    {
        let replaced = Registry::builder()
            .merge(self.registry.clone())
            .replace_activity(activity, code)
            .build();
        match replaced {
            Ok(registry) => self.registry = registry,
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
        self
    }

    /// How the node behaves. `session_timeout` and `max_poll_interval` are left as
    /// they are: a node of an environment dies only when it is told to, and no
    /// notification is lost.
    pub fn options(mut self, options: RuntimeOptions) -> Self {
        self.options = options.session_timeout(A_YEAR).max_poll_interval(A_YEAR);
        self
    }

    /// How long [`TestEnvironment::wait`] waits, in virtual time. The default is 400 days.
    pub fn wait_timeout(mut self, wait_timeout: Duration) -> Self {
        self.wait_timeout = wait_timeout;
        self
    }

    /// Has a scheduler choose what happens next.
    pub(super) fn scheduler(mut self, choices: Choices) -> Self {
        self.choices = Some(choices);
        self
    }

    /// Runs a test in an environment of its own, in virtual time, on this thread.
    ///
    /// It panics if the environment cannot be had.
    #[track_caller]
    pub fn run<T>(self, test: impl AsyncFnOnce(&TestEnvironment) -> T) -> T {
        match paused_runtime() {
            Ok(tokio) => tokio.block_on(async {
                match self.build().await {
                    Ok(env) => test(&env).await,
                    Err(error) => cannot(&error),
                }
            }),
            Err(error) => cannot(&error),
        }
    }

    /// Runs a test as [`run`](Self::run) does, and notes the choices that were made
    /// in it, also when it panics.
    pub(super) fn run_noting(
        self,
        test: &impl AsyncFn(&TestEnvironment),
        note: impl FnOnce(Vec<Chosen>),
    ) {
        let tokio = match paused_runtime() {
            Ok(tokio) => tokio,
            Err(error) => cannot(&error),
        };
        let env = match tokio.block_on(self.build()) {
            Ok(env) => env,
            Err(error) => cannot(&error),
        };
        let result = catch_unwind(AssertUnwindSafe(|| tokio.block_on(test(&env))));
        note(env.chosen());
        if let Err(panic) = result {
            resume_unwind(panic);
        }
    }

    /// An environment in the tokio runtime at hand, whose time must be paused:
    /// `#[tokio::test(start_paused = true)]`.
    ///
    /// # Errors
    ///
    /// [`EnvironmentError::Registry`] if an activity could not be replaced, and
    /// [`EnvironmentError::Start`] if the node did not start.
    pub async fn build(self) -> Result<TestEnvironment, EnvironmentError> {
        if let Some(error) = self.error {
            return Err(error.into());
        }
        let (crashes, crashed) = mpsc::unbounded_channel();
        let gate = self.choices.is_some().then(Arc::<Gate>::default);
        let observed = Arc::new(ObservedStore::new(
            TokioClock::default(),
            gate.clone(),
            crashes,
        ));
        let nodes = EnvironmentNodes {
            observed: Arc::clone(&observed),
            registry: self.registry,
            options: self.options,
        };
        let first = nodes.start().await?;
        let client = first.client();
        let mut tasks = vec![tokio::spawn(nodes.supervise(first, crashed))];
        if let (Some(gate), Some(choices)) = (gate, self.choices) {
            tasks.push(tokio::spawn(run_scheduler(
                Arc::clone(&observed),
                gate,
                choices,
            )));
        }
        Ok(TestEnvironment::new(
            observed,
            client,
            tasks,
            self.wait_timeout,
        ))
    }
}

fn paused_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
}

/// Starts one node after the other on the same store.
struct EnvironmentNodes {
    observed: Arc<ObservedStore>,
    registry: Registry,
    options: RuntimeOptions,
}

impl EnvironmentNodes {
    async fn start(&self) -> Result<Runtime, EnvironmentError> {
        let store = Layered(ObservingProvider::new(Arc::clone(&self.observed)));
        let node = Runtime::builder(store, self.registry.clone())
            .options(self.options.clone())
            .start()
            .await?;
        Ok(node)
    }

    /// Replaces a node that died.
    async fn supervise(self, first: Runtime, mut crashed: mpsc::UnboundedReceiver<()>) {
        let mut node = Some(first);
        while crashed.recv().await.is_some() {
            drop(node.take());
            node = self.start().await.ok();
        }
    }
}

#[track_caller]
#[expect(clippy::panic, reason = "a test calls it to fail")]
pub(super) fn cannot<T>(error: &dyn std::error::Error) -> T {
    panic!("{error}")
}
