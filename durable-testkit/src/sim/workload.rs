//! What a simulation runs: code, and somebody who starts it.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use durable_core::provider::WorkKey;
use durable_core::{InstanceId, Payload};
use durable_runtime::{ActivityContext, Client, ClientError, Registry};
use serde::Serialize;

use super::world::World;

type Drive = Box<
    dyn FnOnce(SimClient) -> Pin<Box<dyn Future<Output = Result<(), ClientError>> + Send>> + Send,
>;

/// Code to be run, and what a client does with it.
#[must_use = "a workload runs in a simulation"]
pub struct Workload {
    pub(crate) registry: Registry,
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
        Self {
            registry,
            effects: Effects::default(),
            drive: Box::new(|client| Box::pin(drive(client))),
        }
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

/// What instances are expected to return.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expectations {
    outputs: Arc<Mutex<BTreeMap<InstanceId, Vec<Payload>>>>,
}

impl Expectations {
    fn add(&self, instance: InstanceId, output: Payload) {
        let mut outputs = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        outputs.entry(instance).or_default().push(output);
    }

    pub(crate) fn all(&self) -> BTreeMap<InstanceId, Vec<Payload>> {
        self.outputs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The client of a simulation. Its requests are lost, doubled and delayed like any
/// other, and sent again until the store has answered.
#[derive(Clone)]
pub struct SimClient {
    pub(crate) client: Client,
    pub(crate) world: Arc<World>,
    pub(crate) expectations: Expectations,
}

impl SimClient {
    /// Waits, in virtual time.
    pub async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    /// A number below this one, drawn from the simulation's seed.
    pub fn below(&self, bound: u64) -> u64 {
        self.world.draw(|random| random.below(bound))
    }

    /// At the end this instance must have returned this, or something else that it
    /// is expected to return.
    pub fn expect_output<T: Serialize>(&self, instance: impl Into<InstanceId>, output: &T) {
        if let Ok(output) = serde_json::to_string(output) {
            self.expectations.add(instance.into(), output.into());
        }
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
