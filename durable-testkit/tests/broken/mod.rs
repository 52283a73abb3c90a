//! Providers with one fault each, around the in-memory provider.

pub(crate) mod code;
pub(crate) mod commit;
pub(crate) mod handing_out;
pub(crate) mod inbox;
pub(crate) mod lifecycle;
pub(crate) mod open_work;
pub(crate) mod reading;
pub(crate) mod receipts;
pub(crate) mod start_options;
pub(crate) mod time;
pub(crate) mod timers;
pub(crate) mod waking;
pub(crate) mod work;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durable_core::Limits;
use durable_core::provider::TurnCommit;

/// Defines a layer around a [`MemoryProvider`](durable_testkit::MemoryProvider)
/// that overrides some methods and may remember something. It is made from its store.
macro_rules! fault {
    (
        $(#[$doc:meta])*
        $name:ident { $($field:ident: $type:ty),* }
        $($methods:tt)*
    ) => {
        $(#[$doc])*
        pub(crate) struct $name {
            store: durable_testkit::MemoryProvider,
            $($field: std::sync::Mutex<$type>,)*
        }

        impl From<durable_testkit::MemoryProvider> for $name {
            fn from(store: durable_testkit::MemoryProvider) -> Self {
                Self { store, $($field: Default::default(),)* }
            }
        }

        #[async_trait::async_trait]
        impl durable_core::provider::Layer for $name {
            type Inner = durable_testkit::MemoryProvider;

            fn inner(&self) -> &durable_testkit::MemoryProvider {
                &self.store
            }

            $($methods)*
        }
    };
}
pub(crate) use fault;

pub(crate) fn locked<T>(memory: &Mutex<T>) -> MutexGuard<'_, T> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes a turn that is valid; an invalid one is left to be refused.
pub(crate) fn change(turn: &mut Arc<TurnCommit>, change: impl FnOnce(&mut TurnCommit)) {
    if turn.validate(&Limits::default()).is_ok() {
        change(Arc::make_mut(turn));
    }
}
