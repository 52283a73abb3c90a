//! One call through a link: its delays, what goes wrong with it, its line in the
//! timeline.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use durable_core::InstanceId;
use durable_core::provider::{Provider, ProviderError};

use super::faulty_provider::FaultyProvider;
use super::node_life::{Fate, LifeKind};
use super::plan::SimFault;
use super::world::World;

/// What the store answers, some time.
pub(crate) type StoreFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<T, ProviderError>> + Send + 'a>>;

/// What shows an answer to the invariants.
type Show<T> = Box<dyn Fn(&World, &T) + Send + Sync>;

/// A call that can be made as often as the plan wants.
pub(crate) struct SimCall<T> {
    pub(crate) name: &'static str,
    pub(crate) about: Vec<InstanceId>,
    /// Whether a second request of the same kind may reach the store.
    pub(crate) may_repeat: bool,
    /// Whether a request may reach the store after its caller gave it up.
    pub(crate) may_be_late: bool,
    /// Sends the request.
    pub(crate) send: Box<dyn Fn(Arc<dyn Provider>) -> StoreFuture<'static, T> + Send + Sync>,
    /// Shows the answer to the invariants.
    pub(crate) show: Show<T>,
    /// The answer in a few words.
    pub(crate) describe: Box<dyn Fn(&T) -> String + Send + Sync>,
}

impl<T: Send + 'static> SimCall<T> {
    pub(crate) fn new(
        name: &'static str,
        send: impl Fn(Arc<dyn Provider>) -> StoreFuture<'static, T> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            about: Vec::new(),
            may_repeat: false,
            may_be_late: false,
            send: Box::new(send),
            show: Box::new(|_, _| {}),
            describe: Box::new(|_| String::from("ok")),
        }
    }

    pub(crate) fn about(mut self, about: impl IntoIterator<Item = InstanceId>) -> Self {
        self.about = about.into_iter().collect();
        self
    }

    /// It may reach the store twice, and after its caller gave it up.
    pub(crate) fn repeatable(mut self) -> Self {
        self.may_repeat = true;
        self.may_be_late = true;
        self
    }

    pub(crate) fn shown(mut self, show: impl Fn(&World, &T) + Send + Sync + 'static) -> Self {
        self.show = Box::new(show);
        self
    }

    pub(crate) fn described(
        mut self,
        describe: impl Fn(&T) -> String + Send + Sync + 'static,
    ) -> Self {
        self.describe = Box::new(describe);
        self
    }
}

impl FaultyProvider {
    /// Makes a call. A client's call is made again until the store has answered.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        call: SimCall<T>,
    ) -> Result<T, ProviderError> {
        let call = Arc::new(call);
        loop {
            let fate = self
                .life
                .fate(&self.world, call.may_repeat, call.may_be_late);
            self.life.pass(&self.world, fate.before).await;
            match self.attempt(&call, fate).await {
                Err(_) if self.life.kind == LifeKind::Client && is_injected(fate.fault) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                answer => return answer,
            }
        }
    }

    async fn attempt<T: Send + 'static>(
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
                self.log(call, fate.fault, "never sent".into());
                self.life.die();
                return std::future::pending().await;
            }
            Some(SimFault::LostAnswer | SimFault::CrashBetween) => {
                let answer = self.send(call).await;
                self.log(call, fate.fault, describe_answer(call, &answer));
                if fate.fault == Some(SimFault::CrashBetween) {
                    self.life.die();
                    return std::future::pending().await;
                }
                self.life.pass(&self.world, fate.after).await;
                return Err(ProviderError::Unknown { reason: reason() });
            }
            Some(SimFault::Repeated) => {
                let first = self.send(call).await;
                self.log(call, None, describe_answer(call, &first));
                self.send(call).await
            }
            Some(SimFault::LateRepeat) => {
                let answer = self.send(call).await;
                self.send_later(call, fate.late);
                answer
            }
            _ => self.send(call).await,
        };
        self.log(call, fate.fault, describe_answer(call, &result));
        if fate.fault == Some(SimFault::CrashAfter) {
            self.life.die();
            return result;
        }
        self.life.pass(&self.world, fate.after).await;
        result
    }

    /// The request reaches the store; whatever it answers is seen.
    async fn send<T: Send + 'static>(&self, call: &SimCall<T>) -> Result<T, ProviderError> {
        send(&self.world, call).await
    }

    /// The request reaches the store once this time has passed, whether its sender
    /// lives or not.
    fn send_later<T: Send + 'static>(&self, call: &Arc<SimCall<T>>, late: Duration) {
        let (world, call) = (Arc::clone(&self.world), Arc::clone(call));
        let who: Arc<str> = format!("{} (late)", self.life.who).into();
        tokio::spawn(async move {
            tokio::time::sleep(late).await;
            if world.phase() == super::world::SimPhase::Over {
                return;
            }
            let answer = send(&world, &call).await;
            let described = describe_answer(&call, &answer);
            world.note(&who, call.name, call.about.clone(), None, described);
        });
    }

    fn log<T: Send + 'static>(&self, call: &SimCall<T>, fault: Option<SimFault>, outcome: String) {
        self.world.note(
            &self.life.who,
            call.name,
            call.about.clone(),
            fault,
            outcome,
        );
    }
}

async fn send<T>(world: &World, call: &SimCall<T>) -> Result<T, ProviderError> {
    let answer = (call.send)(Arc::clone(&world.store)).await;
    if let Ok(answer) = &answer {
        (call.show)(world, answer);
    }
    world.called();
    answer
}

fn describe_answer<T>(call: &SimCall<T>, answer: &Result<T, ProviderError>) -> String {
    match answer {
        Ok(answer) => (call.describe)(answer),
        Err(error) => error.to_string(),
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
