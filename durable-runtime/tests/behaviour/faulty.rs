//! A provider between a node and its store that counts, delays, fails and freezes
//! calls, before or after they have their effect.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use durable_core::provider::{HistoryPage, Layer, Layered, Provider, ProviderError};
use durable_core::{EventId, ExecutionId, InstanceId};

/// What happens to one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    #[default]
    None,
    /// It takes this long before its effect, and this long after it.
    Slow(u64, u64),
    /// Nothing happens, and the caller is told so.
    Unavailable,
    /// Nothing happens, and the caller is told that it may have.
    UnknownBefore,
    /// It happens, and the caller is told that it may not have.
    UnknownAfter,
    /// The process dies before the effect: neither this call nor any later one
    /// returns.
    DieBefore,
    /// The process dies after the effect.
    DieAfter,
}

/// Decides what happens to a call, by its name and its number from 1.
type Plan = Box<dyn FnMut(&'static str, u64) -> Fault + Send>;

/// A provider that does what its plan says.
#[derive(Clone)]
pub(crate) struct Faulty {
    store: Arc<dyn Provider>,
    state: Arc<State>,
}

struct State {
    plan: Mutex<Plan>,
    calls: Mutex<Calls>,
    is_dead: AtomicBool,
    /// The instance whose history does not decode.
    damaged: Arc<Mutex<Option<InstanceId>>>,
    died: tokio::sync::Notify,
}

#[derive(Debug, Default)]
struct Calls {
    total: u64,
    by_name: BTreeMap<&'static str, u64>,
}

impl Faulty {
    pub(crate) fn new(
        store: Arc<dyn Provider>,
        plan: impl FnMut(&'static str, u64) -> Fault + Send + 'static,
    ) -> Self {
        let damaged = Arc::<Mutex<Option<InstanceId>>>::default();
        let damaging = Damaging {
            store,
            damaged: Arc::clone(&damaged),
        };
        Self {
            store: Arc::new(Layered(damaging)),
            state: Arc::new(State {
                plan: Mutex::new(Box::new(plan)),
                calls: Mutex::default(),
                is_dead: AtomicBool::new(false),
                damaged,
                died: tokio::sync::Notify::new(),
            }),
        }
    }

    /// A provider that only counts.
    pub(crate) fn counting(store: Arc<dyn Provider>) -> Self {
        Self::new(store, |_, _| Fault::None)
    }

    /// From now on calls follow this plan.
    pub(crate) fn follow(&self, plan: impl FnMut(&'static str, u64) -> Fault + Send + 'static) {
        *self.state.plan.lock().unwrap() = Box::new(plan);
    }

    /// How often a method was called.
    pub(crate) fn calls(&self, name: &str) -> u64 {
        let calls = self.state.calls.lock().unwrap();
        calls.by_name.get(name).copied().unwrap_or(0)
    }

    /// How often each method was called.
    pub(crate) fn all_calls(&self) -> BTreeMap<&'static str, u64> {
        self.state.calls.lock().unwrap().by_name.clone()
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.state.is_dead.load(Ordering::Relaxed)
    }

    /// Waits until the process has died.
    pub(crate) async fn died(&self) {
        while !self.is_dead() {
            self.state.died.notified().await;
        }
    }

    /// The process dies now.
    pub(crate) fn die(&self) {
        self.state.is_dead.store(true, Ordering::Relaxed);
        self.state.died.notify_one();
    }

    /// From now on the history of this instance does not decode.
    pub(crate) fn damage(&self, instance: &str) {
        *self.state.damaged.lock().unwrap() = Some(instance.into());
    }

    /// All histories decode again.
    pub(crate) fn repair(&self) {
        *self.state.damaged.lock().unwrap() = None;
    }

    fn next(&self, name: &'static str) -> Fault {
        let mut calls = self.state.calls.lock().unwrap();
        calls.total += 1;
        *calls.by_name.entry(name).or_default() += 1;
        let number = calls.total;
        drop(calls);
        self.state.plan.lock().unwrap()(name, number)
    }

    async fn before(&self, fault: Fault) -> Result<(), ProviderError> {
        if self.is_dead() {
            return std::future::pending().await;
        }
        match fault {
            Fault::Slow(before_ms, _) => sleep(before_ms).await,
            Fault::Unavailable => {
                return Err(ProviderError::Unavailable {
                    reason: "as planned".into(),
                });
            }
            Fault::UnknownBefore => return Err(unknown()),
            Fault::DieBefore => {
                self.die();
                return std::future::pending().await;
            }
            Fault::None | Fault::UnknownAfter | Fault::DieAfter => {}
        }
        if self.is_dead() {
            return std::future::pending().await;
        }
        Ok(())
    }

    async fn after(&self, fault: Fault) -> Result<(), ProviderError> {
        match fault {
            Fault::Slow(_, after_ms) => sleep(after_ms).await,
            Fault::UnknownAfter => return Err(unknown()),
            Fault::DieAfter => self.die(),
            _ => {}
        }
        if self.is_dead() {
            return std::future::pending().await;
        }
        Ok(())
    }
}

fn unknown() -> ProviderError {
    ProviderError::Unknown {
        reason: "as planned".into(),
    }
}

async fn sleep(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

macro_rules! relays {
    ($( async fn $method:ident(&self $(, $argument:ident: $type:ty)* $(,)?) -> $answer:ty; )*) => {
        #[async_trait]
        impl Provider for Faulty {
            fn now_ms(&self) -> u64 {
                self.store.now_ms()
            }

            $(
                async fn $method(&self $(, $argument: $type)*) -> $answer {
                    let fault = self.next(stringify!($method));
                    self.before(fault).await?;
                    let answer = self.store.$method($($argument),*).await;
                    self.after(fault).await?;
                    answer
                }
            )*
        }
    };
}

durable_core::provider_methods!(relays);

/// A store with the history of one instance damaged.
struct Damaging {
    store: Arc<dyn Provider>,
    damaged: Arc<Mutex<Option<InstanceId>>>,
}

#[async_trait]
impl Layer for Damaging {
    type Inner = Arc<dyn Provider>;

    fn inner(&self) -> &Self::Inner {
        &self.store
    }

    async fn history(
        &self,
        instance: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ProviderError> {
        if self.damaged.lock().unwrap().as_ref() == Some(instance) {
            return Err(ProviderError::Damaged {
                reason: format!("event 2 of {instance} does not decode"),
            });
        }
        self.store.history(instance, execution_id, after, max).await
    }
}
