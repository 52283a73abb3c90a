//! One call through a link: its delays, what goes wrong with it, its line in the
//! timeline.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{Provider, ProviderError};

use super::describe::Describe;
use super::faulty_provider::FaultyProvider;
use super::method::Method;
use super::node_life::{Fate, LifeKind};
use super::plan::SimFault;
use super::world::{SimPhase, World};

/// What the store answers, some time.
type StoreFuture<T> = Pin<Box<dyn Future<Output = Result<T, ProviderError>> + Send>>;

/// A call that can be made as often as the plan wants.
pub(crate) struct SimCall<T> {
    method: Method,
    /// The request in a few words.
    request: String,
    /// Sends the request.
    send: Box<dyn Fn(Arc<dyn Provider>) -> StoreFuture<T> + Send + Sync>,
}

impl<T: Describe> SimCall<T> {
    pub(crate) fn new(
        method: Method,
        request: String,
        send: impl Fn(Arc<dyn Provider>) -> StoreFuture<T> + Send + Sync + 'static,
    ) -> Self {
        Self {
            method,
            request,
            send: Box::new(send),
        }
    }

    /// The request reaches the store.
    async fn send(&self, world: &World, store: &Arc<dyn Provider>) -> Result<T, ProviderError> {
        let answer = (self.send)(Arc::clone(store)).await;
        world.called();
        answer
    }

    /// Adds a line to the timeline.
    fn note(&self, world: &World, who: &Arc<str>, fault: Option<SimFault>, outcome: &str) {
        let text = format!("{} -> {outcome}", self.request);
        world.note(who, self.method.name(), fault, text);
    }
}

impl FaultyProvider {
    /// Makes a call. A client's call is made again until the store has answered.
    pub(crate) async fn call<T: Describe + Send + 'static>(
        &self,
        call: SimCall<T>,
    ) -> Result<T, ProviderError> {
        let call = Arc::new(call);
        loop {
            let fate = self.life.fate(&self.world, call.method.may_repeat());
            self.life.pass(&self.world, fate.before).await;
            match self.attempt(&call, fate).await {
                Err(_) if self.life.kind == LifeKind::Client && is_injected(fate.fault) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                answer => return answer,
            }
        }
    }

    async fn attempt<T: Describe + Send + 'static>(
        &self,
        call: &Arc<SimCall<T>>,
        fate: Fate,
    ) -> Result<T, ProviderError> {
        let reason = || "simulated".to_owned();
        let result = match fate.fault {
            Some(SimFault::Unavailable) => Err(ProviderError::Unavailable { reason: reason() }),
            Some(SimFault::LostRequest) => Err(ProviderError::Unknown { reason: reason() }),
            Some(SimFault::LateRequest) => {
                self.send_later(call, fate.late);
                Err(ProviderError::Unknown { reason: reason() })
            }
            Some(SimFault::CrashBefore) => {
                self.log(call, fate.fault, "never sent");
                self.life.die();
                return std::future::pending().await;
            }
            Some(SimFault::LostAnswer | SimFault::CrashBetween) => {
                let answer = self.send(call).await;
                self.log(call, fate.fault, &answer.describe());
                if fate.fault == Some(SimFault::CrashBetween) {
                    self.life.die();
                    return std::future::pending().await;
                }
                self.life.pass(&self.world, fate.after).await;
                return Err(ProviderError::Unknown { reason: reason() });
            }
            Some(SimFault::Repeated) => {
                let first = self.send(call).await;
                self.log(call, None, &first.describe());
                self.send(call).await
            }
            Some(SimFault::LateRepeat) => {
                let answer = self.send(call).await;
                self.send_later(call, fate.late);
                answer
            }
            _ => self.send(call).await,
        };
        self.log(call, fate.fault, &result.describe());
        if fate.fault == Some(SimFault::CrashAfter) {
            self.life.die();
            return result;
        }
        self.life.pass(&self.world, fate.after).await;
        result
    }

    async fn send<T: Describe>(&self, call: &SimCall<T>) -> Result<T, ProviderError> {
        call.send(&self.world, &self.store).await
    }

    /// The request reaches the store once this time has passed, whether its sender
    /// lives or not.
    fn send_later<T: Describe + Send + 'static>(&self, call: &Arc<SimCall<T>>, late: Duration) {
        let (world, store) = (Arc::clone(&self.world), Arc::clone(&self.store));
        let call = Arc::clone(call);
        let who: Arc<str> = format!("{} (late)", self.life.who).into();
        tokio::spawn(async move {
            tokio::time::sleep(late).await;
            if world.phase() == SimPhase::Over {
                return;
            }
            let answer = call.send(&world, &store).await;
            call.note(&world, &who, None, &answer.describe());
        });
    }

    fn log<T: Describe>(&self, call: &SimCall<T>, fault: Option<SimFault>, outcome: &str) {
        call.note(&self.world, &self.life.who, fault, outcome);
    }
}

/// Whether the plan made the answer an error.
fn is_injected(fault: Option<SimFault>) -> bool {
    matches!(
        fault,
        Some(
            SimFault::Unavailable
                | SimFault::LostRequest
                | SimFault::LostAnswer
                | SimFault::LateRequest
        )
    )
}
