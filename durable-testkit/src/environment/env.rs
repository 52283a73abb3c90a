//! The environment as tests use it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use durable_core::provider::{MessageBody, OutgoingMessage, Provider};
use durable_core::{Event, Failure, HistoryEntry, InstanceId, Payload};
use durable_runtime::{
    ActivityRef, Client, ClientError, EventRef, InstanceHandle, OrchestrationRef, Registry, Start,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;

use super::builder::{TestEnvironmentBuilder, cannot};
use super::error::EnvironmentError;
use super::missing_code::missing_code;
use super::observed_store::{ObservedStore, TriggeredAction, message};
use super::scheduler::Chosen;
use super::trigger::AtEvent;
use crate::MemoryProvider;

/// A store, a node and virtual time, to test orchestrations in.
///
/// ```
/// use std::time::Duration;
///
/// use durable_core::EventKind;
/// use durable_runtime::{Activity, Failure, Orchestration, OrchestrationContext, Registry};
/// use durable_testkit::TestEnvironment;
///
/// const CHARGE: Activity<u64, String> = Activity::new("charge");
/// const REMIND: Activity<String, ()> = Activity::new("remind");
/// const FULFIL: Orchestration<u64, String> = Orchestration::new("fulfil");
///
/// async fn fulfil(ctx: OrchestrationContext, order: u64) -> Result<String, Failure> {
///     let receipt = ctx.activity(CHARGE, &order).await?;
///     ctx.sleep(Duration::from_secs(30 * 86_400)).await?;
///     ctx.activity(REMIND, &receipt).await?;
///     Ok(receipt)
/// }
///
/// let registry = Registry::builder().orchestration(FULFIL, fulfil).build()?;
/// TestEnvironment::builder(registry)
///     .replace_activity(CHARGE, |order| async move { Ok(format!("receipt of {order}")) })
///     .replace_activity(REMIND, |_| async { Ok(()) })
///     .run(async |env| {
///         env.crash_after(EventKind::ActivityCompleted);
///         let order = env.start(FULFIL, "order-7", &7).await?;
///         env.advance(Duration::from_secs(29 * 86_400)).await;
///         assert_eq!(env.scheduled(REMIND), [""; 0]);
///         assert_eq!(env.wait(&order).await?, "receipt of 7");
///         assert_eq!(env.scheduled(REMIND), ["receipt of 7"]);
///         assert_eq!(env.crashes(), 1);
///         Ok::<(), Box<dyn std::error::Error>>(())
///     })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Time passes by itself when everything waits for it, so nothing need be advanced
/// only to come to an end.
#[derive(Debug)]
pub struct TestEnvironment {
    observed: Arc<ObservedStore>,
    client: Client,
    tasks: Vec<JoinHandle<()>>,
    wait_timeout: Duration,
    messages: AtomicU64,
}

impl TestEnvironment {
    /// An environment with this code.
    pub fn builder(registry: Registry) -> TestEnvironmentBuilder {
        TestEnvironmentBuilder::new(registry)
    }

    pub(super) fn new(
        observed: Arc<ObservedStore>,
        client: Client,
        tasks: Vec<JoinHandle<()>>,
        wait_timeout: Duration,
    ) -> Self {
        Self {
            observed,
            client,
            tasks,
            wait_timeout,
            messages: AtomicU64::new(0),
        }
    }

    /// Starts an orchestration under this id: set its options, then await it.
    pub fn start<I: Serialize, O>(
        &self,
        orchestration: impl OrchestrationRef<I, O>,
        id: impl Into<InstanceId>,
        input: &I,
    ) -> Start<O> {
        self.client.start(orchestration, id, input)
    }

    /// A client of the store.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The store.
    pub fn store(&self) -> &MemoryProvider {
        &self.observed.store
    }

    /// The time.
    pub fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.observed.store.now_ms())
    }

    /// Waits until an instance has ended, and gives its output.
    ///
    /// # Errors
    ///
    /// - [`EnvironmentError::Suspended`] if the instance is suspended.
    /// - [`EnvironmentError::Blocked`] if it waits for an orchestration or an activity that no
    ///   node of the environment has.
    /// - [`EnvironmentError::Waiting`] if it has not ended within the
    ///   [timeout](TestEnvironmentBuilder::wait_timeout), with the suspended children that it
    ///   waits for.
    /// - [`EnvironmentError::Client`] if it failed, was cancelled or terminated, or if
    ///   its output does not decode.
    pub async fn wait<O: DeserializeOwned>(
        &self,
        instance: &InstanceHandle<O>,
    ) -> Result<O, EnvironmentError> {
        let waited = tokio::select! {
            biased;
            waited = instance.wait().timeout(self.wait_timeout) => waited,
            failure = self.until_blocked(instance.id()) => {
                let instance = instance.id().clone();
                return Err(EnvironmentError::Blocked { instance, failure });
            }
        };
        match waited {
            Ok(output) => Ok(output),
            Err(ClientError::Suspended { instance, failure }) => {
                Err(EnvironmentError::Suspended { instance, failure })
            }
            Err(ClientError::TimedOut { .. }) => {
                let record = instance.record().await?;
                Err(EnvironmentError::Waiting {
                    instance: instance.id().clone(),
                    last_event_id: record.last_event_id,
                    history: self.show(instance.id()),
                    suspended_children: instance.suspended_children().await?,
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until an instance needs code that no node has. It looks when nothing happens
    /// any more, and then ever more seldom.
    async fn until_blocked(&self, instance: &InstanceId) -> Failure {
        let mut pause = Duration::from_millis(1);
        loop {
            self.settle().await;
            if let Some(failure) = missing_code(&self.observed.store, instance).await {
                return failure;
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2);
        }
    }

    /// Lets time pass, and everything happen that is due by then.
    pub async fn advance(&self, duration: Duration) {
        self.settle().await;
        tokio::time::sleep(duration).await;
        self.settle().await;
    }

    /// Lets everything happen that happens without time passing.
    pub async fn settle(&self) {
        self.observed.settle().await;
    }

    /// What an activity was called with so far, by whatever instance, in the order
    /// of the calls. It panics if an input is not of that type.
    #[track_caller]
    pub fn scheduled<I: DeserializeOwned, O>(&self, activity: impl ActivityRef<I, O>) -> Vec<I> {
        let activity = activity.into_name();
        self.inputs(|event| match event {
            Event::ActivityScheduled { name, input, .. } if *name == activity => Some(input),
            _ => None,
        })
    }

    /// What an orchestration was started with so far as a child or detached, by
    /// whatever instance, in the order of the calls. It panics if an input is not of
    /// that type.
    #[track_caller]
    pub fn scheduled_children<I: DeserializeOwned, O>(
        &self,
        orchestration: impl OrchestrationRef<I, O>,
    ) -> Vec<I> {
        let orchestration = orchestration.into_name().name;
        self.inputs(|event| match event {
            Event::SubOrchestrationScheduled { name, input, .. }
            | Event::OrchestrationChained { name, input, .. }
                if *name == orchestration =>
            {
                Some(input)
            }
            _ => None,
        })
    }

    /// When the timers of an instance that have not fired are due, first ones first.
    pub fn timers(&self, instance: impl Into<InstanceId>) -> Vec<SystemTime> {
        let instance = instance.into();
        let snapshot = self.observed.store.snapshot();
        let own = snapshot.timers.iter().filter(|t| t.instance == instance);
        own.map(|timer| SystemTime::UNIX_EPOCH + Duration::from_millis(timer.due_ms))
            .collect()
    }

    /// What was recorded of an instance so far, through all of its executions.
    pub fn recorded(&self, instance: impl Into<InstanceId>) -> Vec<HistoryEntry> {
        let instance = instance.into();
        let state = self.observed.state();
        let recorded = state.recorded.iter().filter(|r| r.instance == instance);
        recorded.map(|recorded| recorded.entry.clone()).collect()
    }

    /// What was recorded of an instance so far, a line for each event: for messages
    /// and for tests that compare a whole history.
    pub fn show(&self, instance: impl Into<InstanceId>) -> String {
        let instance = instance.into();
        let state = self.observed.state();
        let mut text = String::new();
        for recorded in state.recorded.iter().filter(|r| r.instance == instance) {
            let (execution, event) = (recorded.execution_id, &recorded.entry.event);
            let id = event.event_id();
            // Writing to a string does not fail.
            let _ = writeln!(text, "{execution:>3} {id:>4} {event}");
        }
        text
    }

    /// The node dies right after the event of this trigger is stored, without learning
    /// that it is, and another one takes over. It happens once.
    pub fn crash_after(&self, trigger: impl Into<AtEvent>) {
        self.observed
            .when(trigger.into(), TriggeredAction::CrashAfter);
    }

    /// The node dies right before the event of this trigger is stored, and another one
    /// takes over. It happens once.
    pub fn crash_before(&self, trigger: impl Into<AtEvent>) {
        self.observed
            .when(trigger.into(), TriggeredAction::CrashBefore);
    }

    /// The node dies now, and another one takes over.
    ///
    /// # Errors
    ///
    /// [`EnvironmentError::Provider`] if the session of the node could not be closed.
    pub async fn crash(&self) -> Result<(), EnvironmentError> {
        Ok(self.observed.crash().await?)
    }

    /// How many nodes have died.
    pub fn crashes(&self) -> u64 {
        self.observed.state().crashes
    }

    /// When the trigger fires, an event is raised for its instance. It happens once. It panics if the data does not encode.
    #[track_caller]
    pub fn raise_when<T: Serialize>(
        &self,
        trigger: impl Into<AtEvent>,
        event: impl EventRef<T>,
        data: &T,
    ) {
        let data = match serde_json::to_string(data) {
            Ok(data) => Payload::from(data),
            Err(error) => cannot(&error),
        };
        let name = event.into_name();
        self.tell_when(trigger.into(), MessageBody::ExternalRaised { name, data });
    }

    /// Raises an event at some time: when, is chosen among everything else by
    /// [`Interleavings`](crate::Interleavings). Without them it is raised at once.
    ///
    /// # Errors
    ///
    /// [`EnvironmentError::Client`] if the event was raised at once and refused.
    pub async fn raise_sometime<T: Serialize>(
        &self,
        instance: impl Into<InstanceId>,
        event: impl EventRef<T>,
        data: &T,
    ) -> Result<(), EnvironmentError> {
        let (target, name) = (instance.into(), event.into_name());
        let Some(gate) = &self.observed.gate else {
            let handle = self.client.instance::<(), ()>("", target);
            return Ok(handle.raise(name, data).await?);
        };
        let data = match serde_json::to_string(data) {
            Ok(data) => Payload::from(data),
            Err(error) => cannot(&error),
        };
        let number = self.messages.fetch_add(1, Ordering::Relaxed);
        let body = MessageBody::ExternalRaised {
            name: name.clone(),
            data,
        };
        let message = message(number, body);
        let outgoing = OutgoingMessage::new(target, message);
        gate.state().keep_event(name, outgoing);
        self.observed.news.notify_one();
        Ok(())
    }

    /// The choices that were made.
    pub(super) fn chosen(&self) -> Vec<Chosen> {
        self.observed.state().chosen.clone()
    }

    /// When the trigger fires, its instance is asked to stop. It happens once.
    pub fn cancel_when(&self, trigger: impl Into<AtEvent>, reason: impl Into<String>) {
        let reason = reason.into();
        self.tell_when(trigger.into(), MessageBody::Cancel { reason });
    }

    /// The triggers that have not fired: at the end of a test there should be none.
    pub fn pending_triggers(&self) -> Vec<AtEvent> {
        let state = self.observed.state();
        let triggers = state.actions.iter().map(|(trigger, _)| trigger.clone());
        triggers.collect()
    }

    fn tell_when(&self, trigger: AtEvent, body: MessageBody) {
        let number = self.messages.fetch_add(1, Ordering::Relaxed);
        self.observed
            .when(trigger, TriggeredAction::Tell(message(number, body)));
    }

    #[track_caller]
    fn inputs<I: DeserializeOwned>(&self, of: impl Fn(&Event) -> Option<&Payload>) -> Vec<I> {
        let state = self.observed.state();
        let events = state.recorded.iter().map(|recorded| &recorded.entry.event);
        events
            .filter_map(of)
            .map(|input| match serde_json::from_str(input) {
                Ok(input) => input,
                Err(error) => cannot(&error),
            })
            .collect()
    }
}

impl Drop for TestEnvironment {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
