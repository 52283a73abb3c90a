//! What orchestration code sees: the context and its durable futures.

mod activity;
mod attribute;
mod branch;
mod child;
mod continuing;
mod event;
mod events;
mod patch;
mod promise;
mod run;
mod state;
mod timer;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use durable_core::{ExecutionId, InstanceId, Limits, Name, Version};
use uuid::Uuid;

use crate::payload::PayloadSubject;
use crate::random::SeededRandom;

use crate::execution::{Misuse, Shared};

pub use activity::ActivityCall;
pub use branch::{Branch, IndexedBranch};
pub use child::{Detached, SubOrchestration};
pub use event::{ExternalEvent, SendEvent, TryExternalEvent};
pub use events::ExternalEvents;
pub use patch::Patched;
pub use promise::Promise;
pub use run::Run;
pub use timer::Sleep;

/// The orchestration's access to the outside world, and the only one it may use.
///
/// Everything it learns through the context is recorded, so that the function
/// can be run again over its history after a crash and goes on where it was. It is
/// cheap to clone; clones mean the same execution.
///
/// Futures that the context gives are lazy: nothing happens before they are first
/// polled. They can be used with any combinator. Dropping one before its value was
/// taken cancels what it stands for.
///
/// # Equal commands
///
/// Commands of one poll are concurrent, and a replay finds them again in any order. Two
/// that are equal, such as two timers of the same length, are told apart by, first to last:
///
/// 1. the branch that makes them: [`join!`](crate::join), [`try_join!`](crate::try_join),
///    [`select!`](crate::select), [`join_all`](crate::join_all) and
///    [`select_all`](crate::select_all) number their branches, and [`branch`](Self::branch)
///    names one for combinators of other crates;
/// 2. the place in the source of the call of the context's method: file, line, column;
/// 3. the position of the future in the memory of the orchestration;
/// 4. the order of polls: for futures in boxes, which lie elsewhere.
///
/// The first two are the same in every build. The third is the same in every run of one
/// build, and another compiler may change it: it decides only where equal commands come
/// from one place in one branch, as when a combinator of another crate waits for a helper
/// twice. Use this crate's combinators there.
///
/// An unbiased `tokio::select!` begins its branches in a random order. What each of them
/// asks of the context finds its branch again by the order above, with three exceptions,
/// which need `biased;`, a place before the `select!`, or this crate's
/// [`select!`](crate::select): numbers drawn with [`random`](Self::random) and
/// [`uuid`](Self::uuid), promises, which are numbered when they are made, and equal
/// commands from one place in boxed branches without names.
///
/// # What must not be in an orchestration
///
/// Whatever is not the same in a replay: the system's time, random numbers of other
/// sources, global variables, `tokio::spawn` and `tokio::time::sleep`, sockets and files.
/// Use [`now`](Self::now), [`random`](Self::random), [`sleep`](Self::sleep), an
/// [`activity`](Self::activity) or [`run`](Self::run) instead. In debug builds the runtime
/// replays what it stored and finds such code while it is being written.
///
/// ```
/// use std::time::Duration;
/// use durable_runtime::{Activity, EventName, Failure, OrchestrationContext};
///
/// const CHARGE: Activity<u64, String> = Activity::new("charge");
/// const REFUND: Activity<u64, ()> = Activity::new("refund");
/// const APPROVED: EventName<bool> = EventName::new("approved");
///
/// async fn order(ctx: OrchestrationContext, cents: u64) -> Result<String, Failure> {
///     let receipt = ctx.activity(CHARGE, &cents).await?;
///     let is_approved = tokio::select! {
///         approved = ctx.external_event(APPROVED) => approved?,
///         timer = ctx.sleep(Duration::from_secs(86_400)) => timer.map(|()| false)?,
///     };
///     if !is_approved {
///         ctx.activity(REFUND, &cents).await?;
///         return Err(Failure::application("refused", "not approved"));
///     }
///     Ok(receipt)
/// }
/// # let _ = order;
/// ```
#[derive(Debug, Clone)]
pub struct OrchestrationContext {
    shared: Arc<Shared>,
}

impl OrchestrationContext {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// The id of this instance.
    pub fn instance_id(&self) -> InstanceId {
        self.shared.instance.clone()
    }

    /// The number of this execution: it rises with every continue-as-new.
    pub fn execution_id(&self) -> ExecutionId {
        self.shared.execution_id
    }

    /// The version that this execution runs on.
    pub fn version(&self) -> Version {
        self.shared.lock().version.clone()
    }

    /// The time of the latest thing that happened to this execution: the same in
    /// every replay.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext};
    /// # use std::time::Duration;
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let deadline = ctx.now() + Duration::from_secs(3600);
    /// # let _ = deadline;
    /// # Ok(())
    /// # }
    /// ```
    pub fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.now_ms())
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.shared.lock().cursor.now_ms()
    }

    /// A random id: the same in every replay, different in every execution.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext};
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let order_number = ctx.uuid().to_string();
    /// # let _ = order_number;
    /// # Ok(())
    /// # }
    /// ```
    pub fn uuid(&self) -> Uuid {
        let bytes = self.draw(SeededRandom::next_bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }

    /// A random number: the same in every replay, different in every execution.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext};
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let lucky = ctx.random() % 100 == 0;
    /// # let _ = lucky;
    /// # Ok(())
    /// # }
    /// ```
    pub fn random(&self) -> u64 {
        self.draw(SeededRandom::next_u64)
    }

    /// Draws from the stream of this execution. A caller that may not draw gets a value
    /// too, but does not move the stream: the execution is stopped for it.
    fn draw<T>(&self, draw: impl FnOnce(&mut SeededRandom) -> T) -> T {
        match self.shared.enter() {
            Ok(mut state) => draw(&mut state.random),
            Err(_) => draw(&mut self.shared.lock().random.clone()),
        }
    }

    /// Whether the code runs over recorded events and what it does now has been
    /// done before.
    ///
    /// Nothing that the orchestration does may depend on it; it is for side
    /// channels such as metrics. (`tracing` is silent in replay by itself.)
    pub fn is_replaying(&self) -> bool {
        self.shared.lock().is_replaying()
    }

    /// How many events the history of this execution has.
    pub fn history_len(&self) -> u64 {
        self.shared.lock().cursor.last_event_id().get()
    }

    /// Whether the history has grown so long that it is time to
    /// [`continue_as_new`](Self::continue_as_new).
    pub fn should_continue_as_new(&self) -> bool {
        self.history_len() >= self.shared.settings.continue_as_new_after
    }

    /// Whether this orchestration was asked to stop.
    ///
    /// What was open at that moment resolves to a failure of kind `Cancelled`, so
    /// `?` unwinds; clean-up code can go on calling activities.
    ///
    /// ```
    /// # use durable_runtime::{Activity, Failure, OrchestrationContext};
    /// # const CHARGE: Activity<u64, ()> = Activity::new("charge");
    /// # const REFUND: Activity<u64, ()> = Activity::new("refund");
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let charged = ctx.activity(CHARGE, &4990).await;
    /// if ctx.is_cancelled() {
    ///     ctx.activity(REFUND, &4990).await?; // clean-up is ordinary code
    /// }
    /// charged?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_cancelled(&self) -> bool {
        self.shared.lock().cursor.cancel_reason().is_some()
    }

    /// Why this orchestration was asked to stop.
    pub fn cancel_reason(&self) -> Option<String> {
        self.shared.lock().cursor.cancel_reason().map(Into::into)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.shared.settings.limits
    }

    /// A subject with a checked name.
    fn subject(
        &self,
        what: &'static str,
        name: Name,
    ) -> Result<PayloadSubject, durable_core::Failure> {
        let subject = PayloadSubject::new(what, name);
        crate::payload::check_name(self.limits(), &subject)?;
        Ok(subject)
    }
}
