//! What must hold whatever goes wrong, one property per file.
//!
//! An invariant sees every answer of the store, the whole store now and then, and
//! the end. It changes nothing.

mod activity_once;
mod append_only;
mod events_once;
mod no_early_timer;
mod nothing_left;
mod one_owner;
mod outputs;
mod poison_kept;
mod replay_exact;
mod starts_finish;
mod streams_whole;
mod views_current;

use std::fmt;

use durable_core::InstanceId;
use durable_core::provider::PurgeRequest;

use crate::memory::{MemoryProvider, Snapshot};
use crate::sim::{Expectations, Observed, Workload};

/// Something that must hold whatever goes wrong.
///
/// ```
/// # use durable_runtime::{Failure, Orchestration, OrchestrationContext, Registry};
/// # const GREET: Orchestration<String, String> = Orchestration::new("greet");
/// # async fn greet(_: OrchestrationContext, name: String) -> Result<String, Failure> {
/// #     Ok(format!("Hello, {name}!"))
/// # }
/// # let registry = Registry::builder().orchestration(GREET, greet).build()?;
/// use durable_testkit::{InvariantViolation, Invariant, MemoryProvider, Observed, Simulation, Workload};
///
/// /// No turn records more than ten events.
/// struct SmallTurns;
///
/// impl Invariant for SmallTurns {
///     fn name(&self) -> &'static str {
///         "turns_are_small"
///     }
///
///     fn saw(&mut self, seen: &Observed<'_>, _: &MemoryProvider) -> Result<(), InvariantViolation> {
///         match seen {
///             Observed::Committed { turn, .. } if turn.events.len() > 10 => {
///                 let what = format!("{} events in one turn", turn.events.len());
///                 Err(InvariantViolation::of(&turn.lease.instance, what))
///             }
///             _ => Ok(()),
///         }
///     }
/// }
///
/// # let workload = Workload::new(registry, |client| async move {
/// #     client.start(GREET, "greet-1", &"Ada".to_owned()).await.map(drop)
/// # });
/// Simulation::new(7).invariant(SmallTurns).run(workload).assert_ok();
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
pub trait Invariant: Send + 'static {
    /// Its name, in reports.
    fn name(&self) -> &'static str;

    /// The store gave an answer just now. [`store`](MemoryProvider) is a handle that does
    /// not move the store's time: its `now_ms` is the time of the answer.
    ///
    /// # Errors
    ///
    /// How the answer breaks the invariant. The simulation ends with it.
    fn saw(
        &mut self,
        seen: &Observed<'_>,
        store: &MemoryProvider,
    ) -> Result<(), InvariantViolation> {
        let _ = (seen, store);
        Ok(())
    }

    /// The whole store, now and then and at the end.
    ///
    /// # Errors
    ///
    /// How the store breaks the invariant. The simulation ends with it.
    fn look(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        let _ = snapshot;
        Ok(())
    }

    /// The whole store, when nothing went wrong for long.
    ///
    /// # Errors
    ///
    /// How the end breaks the invariant.
    fn end(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        let _ = snapshot;
        Ok(())
    }
}

/// How an invariant was broken.
///
/// ```
/// use durable_testkit::InvariantViolation;
///
/// let violation = InvariantViolation::of(&"order-7".into(), "it was charged twice");
/// assert_eq!(violation.to_string(), "`order-7`: it was charged twice");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvariantViolation {
    /// The instance that it is about.
    pub instance: Option<InstanceId>,
    /// What is wrong.
    pub what: String,
}

impl InvariantViolation {
    /// Something is wrong.
    pub fn new(what: impl Into<String>) -> Self {
        Self {
            instance: None,
            what: what.into(),
        }
    }

    /// Something is wrong with an instance.
    pub fn of(instance: &InstanceId, what: impl Into<String>) -> Self {
        Self {
            instance: Some(instance.clone()),
            what: what.into(),
        }
    }
}

impl fmt::Display for InvariantViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.instance {
            Some(instance) => write!(f, "`{instance}`: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// Whether a purge has removed this instance just now.
fn is_purged(purge: &PurgeRequest, instance: &InstanceId, store: &Snapshot) -> bool {
    let prefix = purge.filter.id_prefix.as_deref();
    let is_meant = prefix.is_none_or(|prefix| instance.starts_with(prefix));
    is_meant && !store.instances.contains_key(instance)
}

/// All that are there.
pub(crate) fn all(workload: &Workload, expectations: &Expectations) -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(append_only::AppendOnly::default()),
        Box::new(one_owner::OneOwner::default()),
        Box::new(no_early_timer::NoEarlyTimer),
        Box::new(events_once::EventsOnce::default()),
        Box::new(activity_once::ActivityOnce::new(workload.effects.clone())),
        Box::new(poison_kept::PoisonKept::default()),
        Box::new(starts_finish::StartsFinish::default()),
        Box::new(views_current::ViewsCurrent),
        Box::new(streams_whole::StreamsWhole::default()),
        Box::new(nothing_left::NothingLeft),
        Box::new(outputs::Outputs::new(expectations.clone())),
        Box::new(replay_exact::ReplayExact::new(&workload.registry)),
    ]
}
