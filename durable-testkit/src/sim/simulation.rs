//! A simulation from its seed to its report.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::Provider;
use durable_runtime::RuntimeOptions;
use tokio::time::Instant;

use super::chance::Stream;
use super::clock::SimClock;
use super::expectations::Expectations;
use super::node::SimNode;
use super::plan::FaultPlan;
use super::report::{SimFailure, SimReport};
use super::scope::SimScope;
use super::workload::{SimClient, Workload};
use super::world::{AroundStore, SimPhase, World, WorldLimits};
use crate::clock::ManualClock;
use crate::invariant::{self, Invariant, InvariantViolation};
use crate::memory::{MemoryOptions, MemoryProvider};
use crate::random::Random;

/// Several nodes and a client over one store, in virtual time, with everything
/// going wrong that a seed can think of.
///
/// The nodes are real [`Runtime`](durable_runtime::Runtime)s. They crash at any
/// call, before, within and after it; they come back, fall silent, stall, are slow
/// and have wrong clocks; requests and answers are lost, late and doubled. Then all
/// faults stop, and everything that was begun must come to its end. The invariants
/// are checked all along.
///
/// A seed gives one run, to the byte, as long as the code under test draws nothing
/// itself: tokio's `select!` without `biased;` does when several branches are ready
/// at once, and so do hash maps that are iterated over.
///
/// ```
/// use durable_runtime::{Activity, ActivityContext, Failure, Orchestration};
/// use durable_runtime::{OrchestrationContext, Registry};
/// use durable_testkit::{Simulation, Workload};
///
/// const GREET: Activity<String, String> = Activity::new("greet");
/// const HELLO: Orchestration<String, String> = Orchestration::new("hello");
///
/// async fn hello(ctx: OrchestrationContext, name: String) -> Result<String, Failure> {
///     ctx.activity(GREET, &name).await
/// }
///
/// async fn greet(_: ActivityContext, name: String) -> Result<String, Failure> {
///     Ok(format!("Hello, {name}!"))
/// }
///
/// let registry = Registry::builder()
///     .orchestration(HELLO, hello)
///     .activity(GREET, greet)
///     .build()?;
/// let workload = Workload::new(registry, |client| async move {
///     client.start(HELLO, "hello-1", &"Ada".to_owned()).await?;
///     client.expect_output("hello-1", &"Hello, Ada!");
///     Ok(())
/// });
/// Simulation::new(7).nodes(2).run(workload).assert_ok();
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
#[must_use = "a simulation does nothing before it is run"]
pub struct Simulation {
    seed: u64,
    nodes: usize,
    plan: FaultPlan,
    scope: SimScope,
    faults_for: Duration,
    rest_within: Duration,
    options: Option<RuntimeOptions>,
    limits: WorldLimits,
    around_store: AroundStore,
    invariants: Vec<Box<dyn Invariant>>,
}

impl Simulation {
    /// Everything that is left to chance follows from this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            nodes: 2 + usize::try_from(seed % 4).unwrap_or(0),
            plan: FaultPlan::drawn(seed),
            scope: SimScope::default(),
            faults_for: Duration::from_secs(900),
            rest_within: Duration::from_secs(6 * 3_600),
            options: None,
            limits: WorldLimits {
                look_every: 64,
                max_calls: 300_000,
            },
            around_store: Box::new(|handle| Arc::new(handle)),
            invariants: Vec::new(),
        }
    }

    /// How many nodes there are; two to five if it is not said. There are never fewer
    /// than the workload needs.
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes.max(1);
        self
    }

    /// What goes wrong, and how often; drawn if it is not said.
    pub fn faults(mut self, plan: FaultPlan) -> Self {
        self.plan = plan;
        self
    }

    /// Only this much of the run takes place: what shrinking left of it; see
    /// [`smallest_failure`](crate::smallest_failure).
    pub fn scope(mut self, scope: SimScope) -> Self {
        self.scope = scope;
        self
    }

    /// How long things go wrong, in virtual time, unless all is done before.
    pub fn faults_for(mut self, duration: Duration) -> Self {
        self.faults_for = duration;
        self
    }

    /// How long after the last fault everything must have come to rest, in virtual
    /// time.
    pub fn rest_within(mut self, duration: Duration) -> Self {
        self.rest_within = duration;
        self
    }

    /// How all nodes behave; drawn for each node if it is not said.
    pub fn options(mut self, options: RuntimeOptions) -> Self {
        self.options = Some(options);
        self
    }

    /// After how many calls the whole store is looked at.
    pub fn look_every(mut self, calls: u64) -> Self {
        self.limits.look_every = calls.max(1);
        self
    }

    /// Puts something between the nodes and the store, such as a mistake that the
    /// invariants are to find. It is called for every handle that a life of a node, or a
    /// client, has on the one store.
    pub fn around_store(
        mut self,
        around: impl Fn(MemoryProvider) -> Arc<dyn Provider> + Send + Sync + 'static,
    ) -> Self {
        self.around_store = Box::new(around);
        self
    }

    /// One more invariant.
    pub fn invariant(mut self, invariant: impl Invariant) -> Self {
        self.invariants.push(Box::new(invariant));
        self
    }

    /// Runs it, on a tokio runtime of its own: call it from a plain test.
    pub fn run(self, workload: Workload) -> SimReport {
        let (seed, scope) = (self.seed, self.scope.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        match runtime {
            Ok(runtime) => runtime.block_on(self.simulate(workload)),
            Err(error) => SimReport::not_run(seed, scope, &error),
        }
    }

    async fn simulate(self, workload: Workload) -> SimReport {
        let (seed, faults_for, rest_within) = (self.seed, self.faults_for, self.rest_within);
        let expectations = Expectations::default();
        let nodes = self.node_count(&workload);
        let (world, client) = self.begin(nodes, &workload, &expectations);
        let mut driver = tokio::spawn({
            let (drive, world) = (workload.drive, Arc::clone(&world));
            async move {
                if let Err(error) = drive(client).await {
                    world.fail("workload", InvariantViolation::new(error.to_string()));
                }
            }
        });
        let mut is_driven = false;
        let healed_at = Instant::now() + faults_for;
        let over_at = healed_at + rest_within;
        let pause = Duration::from_secs(5);
        while world.phase() != SimPhase::Over {
            tokio::select! {
                biased;
                () = world.reached(SimPhase::Over) => break,
                driven = &mut driver, if !is_driven => {
                    is_driven = true;
                    if let Err(error) = driven {
                        world.fail("workload", InvariantViolation::new(error.to_string()));
                    }
                    continue;
                }
                () = tokio::time::sleep(pause) => {}
            }
            let is_done = is_driven && world.is_at_rest();
            if is_done && world.phase() == SimPhase::Healed || Instant::now() >= over_at {
                break;
            }
            if is_done || Instant::now() >= healed_at {
                world.enter(SimPhase::Healed);
            }
        }
        world.judge_end();
        world.enter(SimPhase::Over);
        let remains = world.remains();
        SimReport {
            seed,
            scope: world.scope.clone(),
            nodes,
            parts: remains.parts,
            struck: remains.struck,
            simulated: remains.elapsed,
            calls: remains.calls,
            faults: remains.faults,
            timeline: remains.timeline,
            snapshot: remains.snapshot,
            failure: remains.failure.map(|(invariant, violation)| SimFailure {
                invariant,
                violation,
            }),
        }
    }

    fn node_count(&self, workload: &Workload) -> usize {
        let nodes = self.scope.nodes.unwrap_or(self.nodes);
        nodes.max(workload.least_nodes).max(1)
    }

    /// Builds the store, the nodes and the client.
    fn begin(
        self,
        nodes: usize,
        workload: &Workload,
        expectations: &Expectations,
    ) -> (Arc<World>, SimClient) {
        let messages = Stream::new(self.seed, "store").draw(|random| random.below(8));
        let options = MemoryOptions::default()
            .messages_per_fetch(1 + usize::try_from(messages).unwrap_or(0))
            // Its time is what the clocks of nodes and clients make of it.
            .clock(ManualClock::starting_at(0));
        let mut invariants = invariant::all(workload, expectations);
        invariants.extend(self.invariants);
        let world = Arc::new(World::new(
            self.seed,
            self.plan,
            self.scope,
            MemoryProvider::with_options(options),
            self.around_store,
            invariants,
            self.limits,
        ));
        for number in 1..=nodes {
            let drawn = || {
                let chance = world.stream(&format!("node-{number}"));
                chance.draw(drawn_options)
            };
            let node = SimNode {
                number,
                clock: SimClock::new(world.began),
                code: Arc::clone(&workload.code),
                options: self.options.clone().unwrap_or_else(drawn),
                world: Arc::clone(&world),
            };
            tokio::spawn(node.run());
        }
        let client = SimClient::new(&world, "client", expectations);
        (world, client)
    }
}

/// Small numbers, so that the limits are felt. The faults of a simulation are no
/// reason to set anything aside.
fn drawn_options(random: &mut Random) -> RuntimeOptions {
    let mut below = |bound| usize::try_from(random.below(bound)).unwrap_or(0);
    RuntimeOptions::default()
        .max_turns(1 + below(6))
        .max_activities(1 + below(6))
        .cached_executions(1 + below(20))
        .session_timeout(Duration::from_secs(10))
        .max_crashes(u32::MAX)
        .verify_replay(true)
}

impl SimReport {
    fn not_run(seed: u64, scope: SimScope, error: &std::io::Error) -> Self {
        Self {
            seed,
            scope,
            nodes: 0,
            parts: Default::default(),
            struck: Default::default(),
            simulated: Duration::ZERO,
            calls: 0,
            faults: Default::default(),
            timeline: Default::default(),
            snapshot: Default::default(),
            failure: Some(SimFailure {
                invariant: "runs",
                violation: InvariantViolation::new(error.to_string()),
            }),
        }
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("seed", &self.seed)
            .field("nodes", &self.nodes)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}
