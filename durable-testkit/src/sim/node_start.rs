//! What a workload decides of a node: what each of its lives runs, and how.

use std::fmt;
use std::sync::{Arc, Weak};

use durable_runtime::{Registry, RuntimeOptions};

use super::chance::Stream;
use super::node_life::NodeLife;
use super::plan::SimFault;
use super::world::World;

/// What a node runs, life after life.
pub(crate) type Code = Arc<dyn Fn(&mut NodeStart) -> Registry + Send + Sync>;

/// A node of a simulation that is about to begin a life: the workload looks at it
/// and says what it runs; see [`Workload::on_nodes`](crate::Workload::on_nodes).
///
/// See the example of [`Workload::on_nodes`](crate::Workload::on_nodes).
pub struct NodeStart {
    pub(crate) number: usize,
    pub(crate) life: u64,
    /// How the node will behave in this life.
    pub options: RuntimeOptions,
    pub(crate) chance: Stream,
    pub(crate) kill: KillSwitch,
}

impl NodeStart {
    /// Which node it is, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Which of its lives begins, from 1.
    pub fn life(&self) -> u64 {
        self.life
    }

    /// A number below this one, drawn from the simulation's seed for this life.
    pub fn below(&self, bound: u64) -> u64 {
        self.chance.draw(|random| random.below(bound))
    }

    /// What takes this life of the node down.
    pub fn kill_switch(&self) -> KillSwitch {
        self.kill.clone()
    }
}

impl fmt::Debug for NodeStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeStart")
            .field("number", &self.number)
            .field("life", &self.life)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Takes one life of a simulated node down, as an activity that overruns its memory
/// would.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use durable_runtime::{
///     Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
/// };
/// use durable_testkit::{SimFault, FaultPlan, KillSwitch, Simulation, Workload};
///
/// const BLAST: Activity<(), ()> = Activity::new("blast");
/// const BLASTER: Orchestration<(), ()> = Orchestration::new("blaster");
///
/// async fn blaster(ctx: OrchestrationContext, _: ()) -> Result<(), Failure> {
///     ctx.activity(BLAST, &()).await
/// }
///
/// /// Takes the first node down that runs it.
/// fn code(is_armed: &Arc<AtomicBool>, kill: Option<KillSwitch>) -> Registry {
///     let is_armed = Arc::clone(is_armed);
///     let blast = move |_: ActivityContext, ()| {
///         let (is_armed, kill) = (Arc::clone(&is_armed), kill.clone());
///         async move {
///             if let Some(kill) = kill.filter(|_| is_armed.swap(false, Ordering::Relaxed)) {
///                 kill.pull().await;
///             }
///             Ok::<(), Failure>(())
///         }
///     };
///     let registry = Registry::builder().activity(BLAST, blast);
///     registry.orchestration(BLASTER, blaster).build().unwrap()
/// }
///
/// let is_armed = Arc::new(AtomicBool::new(true));
/// let workload = Workload::new(code(&is_armed, None), |client| async move {
///     client.expect_output("blaster-1", &());
///     client.start(BLASTER, "blaster-1", &()).await.map(drop)
/// });
/// let workload = workload.on_nodes(1, move |node| code(&is_armed, Some(node.kill_switch())));
/// let report = Simulation::new(7).faults(FaultPlan::NONE).run(workload);
/// report.assert_ok();
/// assert_eq!(report.faults[&SimFault::Killed], 1);
/// ```
#[derive(Clone)]
pub struct KillSwitch {
    world: Arc<World>,
    life: Weak<NodeLife>,
}

impl KillSwitch {
    pub(crate) fn new(world: &Arc<World>, life: &Arc<NodeLife>) -> Self {
        Self {
            world: Arc::clone(world),
            life: Arc::downgrade(life),
        }
    }

    /// The node dies. The caller does nothing more: this never returns.
    pub async fn pull(&self) {
        if let Some(life) = self.life.upgrade() {
            let fault = SimFault::Killed;
            self.world.count(fault);
            self.world
                .note(&life.who, "node", Some(fault), String::new());
            life.die();
        }
        std::future::pending::<()>().await;
    }
}

impl fmt::Debug for KillSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KillSwitch").finish_non_exhaustive()
    }
}
