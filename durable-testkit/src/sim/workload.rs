//! What a simulation runs: code, and a client that starts it.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use durable_core::InstanceId;
use durable_core::provider::WorkKey;
use durable_runtime::{ActivityContext, Client, ClientError, Registry};
use serde::Serialize;

use super::chance::Stream;
use super::expectations::{Expectations, Expected};
use super::link;
use super::node_life::{LifeKind, NodeLife};
use super::node_start::{Code, NodeStart};
use super::world::World;

type Drive = Box<
    dyn FnOnce(SimClient) -> Pin<Box<dyn Future<Output = Result<(), ClientError>> + Send>> + Send,
>;

/// Code to be run, and what a client does with it.
///
/// See the examples of [`Simulation`](crate::Simulation) and
/// [`on_nodes`](Self::on_nodes).
#[must_use = "a workload runs in a simulation"]
pub struct Workload {
    /// What everything must replay on.
    pub(crate) registry: Registry,
    pub(crate) code: Code,
    pub(crate) least_nodes: usize,
    pub(crate) effects: Effects,
    pub(crate) drive: Drive,
}

impl Workload {
    /// This code, driven like this. What the driver draws, it must draw from
    /// [`SimClient::below`]: then a seed gives one run.
    pub fn new<F, R>(registry: Registry, drive: F) -> Self
    where
        F: FnOnce(SimClient) -> R + Send + 'static,
        R: Future<Output = Result<(), ClientError>> + Send + 'static,
    {
        let on_each = registry.clone();
        Self {
            registry,
            code: Arc::new(move |_| on_each.clone()),
            least_nodes: 1,
            effects: Effects::default(),
            drive: Box::new(|client| Box::pin(drive(client))),
        }
    }

    /// Nodes differ: in what they can run, as in a rolling upgrade, or in how they
    /// behave. `code` is asked at the beginning of every life of a node, and may change
    /// its options. The workload needs `least` nodes to come to its end.
    ///
    /// ```
    /// use durable_runtime::{Failure, Orchestration, OrchestrationContext, Registry};
    /// use durable_testkit::{Simulation, Workload};
    ///
    /// const GREET: Orchestration<String, String> = Orchestration::new("greet");
    ///
    /// async fn greet(_: OrchestrationContext, name: String) -> Result<String, Failure> {
    ///     Ok(format!("Hello, {name}!"))
    /// }
    ///
    /// async fn wave(_: OrchestrationContext, name: String) -> Result<String, Failure> {
    ///     Ok(format!("Bye, {name}!"))
    /// }
    ///
    /// let old = Registry::builder().orchestration("wave", wave).build()?;
    /// let new = Registry::builder().orchestration(GREET, greet).build()?;
    /// let workload = Workload::new(new.clone(), |client| async move {
    ///     client.start(GREET, "greet-1", &"Ada".to_owned()).await?;
    ///     client.expect_output("greet-1", &"Hello, Ada!");
    ///     Ok(())
    /// });
    /// // All nodes but the first begin with a release that lacks the orchestration.
    /// let workload = workload.on_nodes(1, move |node| {
    ///     let is_old = node.number() > 1 && node.life() == 1;
    ///     if is_old { old.clone() } else { new.clone() }
    /// });
    /// Simulation::new(7).nodes(3).run(workload).assert_ok();
    /// # Ok::<(), durable_runtime::RegistryError>(())
    /// ```
    pub fn on_nodes(
        mut self,
        least: usize,
        code: impl Fn(&mut NodeStart) -> Registry + Send + Sync + 'static,
    ) -> Self {
        self.least_nodes = least;
        self.code = Arc::new(code);
        self
    }

    /// Where the activities note their effects, so that each one that history says
    /// was completed is known to have had an effect.
    pub fn effects(mut self, effects: &Effects) -> Self {
        self.effects = effects.clone();
        self
    }
}

impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workload")
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}

/// How often each activity did what it is there for.
///
/// ```
/// use durable_runtime::{
///     Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
/// };
/// use durable_testkit::{Effects, Simulation, Workload};
///
/// const CHARGE: Activity<u64, u64> = Activity::new("charge");
/// const ORDER: Orchestration<u64, u64> = Orchestration::new("order");
///
/// async fn order(ctx: OrchestrationContext, price: u64) -> Result<u64, Failure> {
///     ctx.activity(CHARGE, &price).await
/// }
///
/// let effects = Effects::default();
/// let noted = effects.clone();
/// let registry = Registry::builder()
///     .orchestration(ORDER, order)
///     .activity(CHARGE, move |ctx: ActivityContext, price: u64| {
///         noted.note(&ctx);
///         async move { Ok::<_, Failure>(price) }
///     })
///     .build()?;
/// let workload = Workload::new(registry, |client| async move {
///     client.expect_output("order-7", &7u64);
///     client.start(ORDER, "order-7", &7).await.map(drop)
/// });
/// Simulation::new(7).run(workload.effects(&effects)).assert_ok();
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Effects {
    counts: Arc<Mutex<BTreeMap<WorkKey, u64>>>,
}

impl Effects {
    /// Notes that an activity did it.
    pub fn note(&self, context: &ActivityContext) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(context.key().clone()).or_insert(0) += 1;
    }

    /// How often an activity did it; `None` if no activity notes anything here.
    pub fn of(&self, key: &WorkKey) -> Option<u64> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_used = !counts.is_empty();
        is_used.then(|| counts.get(key).copied().unwrap_or(0))
    }
}

/// The client of a simulation. Its requests are lost, doubled and delayed like any
/// other, and sent again until the store has answered.
///
/// ```
/// # use std::time::Duration;
/// # use durable_runtime::{Failure, Orchestration, OrchestrationContext, Registry};
/// # const GREET: Orchestration<String, String> = Orchestration::new("greet");
/// # async fn greet(_: OrchestrationContext, name: String) -> Result<String, Failure> {
/// #     Ok(format!("Hello, {name}!"))
/// # }
/// # let registry = Registry::builder().orchestration(GREET, greet).build()?;
/// use durable_testkit::{Simulation, Workload};
///
/// let workload = Workload::new(registry, |client| async move {
///     for (number, client) in client.parts(3) {
///         client.sleep(Duration::from_secs(client.below(60))).await;
///         let id = format!("greet-{number}");
///         client.expect_output(id.as_str(), &"Hello, Ada!");
///         client.start(GREET, id, &"Ada".to_owned()).await?;
///     }
///     Ok(())
/// });
/// Simulation::new(7).run(workload).assert_ok();
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
#[derive(Clone)]
pub struct SimClient {
    client: Client,
    world: Arc<World>,
    expectations: Expectations,
    chance: Arc<Stream>,
}

impl SimClient {
    pub(crate) fn new(world: &Arc<World>, who: &str, expectations: &Expectations) -> Self {
        let life = Arc::new(NodeLife::new(world, who, LifeKind::Client));
        Self {
            client: Client::new(link::of_client(world, &life)),
            world: Arc::clone(world),
            expectations: expectations.clone(),
            chance: Arc::new(world.stream(who)),
        }
    }

    /// Waits, in virtual time.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    /// A number below this one, drawn from the simulation's seed.
    pub fn below(&self, bound: u64) -> u64 {
        self.chance.draw(|random| random.below(bound))
    }

    /// The workload in this many parts that have nothing to do with each other: a
    /// client for each, with its number and with chance of its own. When a broken
    /// seed is shrunk, parts are left out; then they are missing here.
    pub fn parts(&self, count: u64) -> Vec<(u64, Self)> {
        let numbers = (0..count).filter(|number| self.world.has_part(*number));
        let client = |number| {
            let who = format!("client-{number}");
            Self::new(&self.world, &who, &self.expectations)
        };
        numbers.map(|number| (number, client(number))).collect()
    }

    /// At the end this instance must have returned this, or come to another end that
    /// is expected of it.
    pub fn expect_output<T: Serialize>(&self, instance: impl Into<InstanceId>, output: &T) {
        if let Ok(output) = serde_json::to_string(output) {
            let output = Expected::Output(output.into());
            self.expectations.add(instance.into(), output);
        }
    }

    /// At the end this instance must have been terminated, or come to another end
    /// that is expected of it.
    pub fn expect_terminated(&self, instance: impl Into<InstanceId>) {
        let instance = instance.into();
        self.expectations.add(instance, Expected::Terminated);
    }
}

impl Deref for SimClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl fmt::Debug for SimClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimClient").finish_non_exhaustive()
    }
}
