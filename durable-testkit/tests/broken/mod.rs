//! Providers with one fault each, around the in-memory provider.

pub(crate) mod commit;
pub(crate) mod handing_out;
pub(crate) mod inbox;
pub(crate) mod lifecycle;
pub(crate) mod reading;
pub(crate) mod timers;
pub(crate) mod waking;
pub(crate) mod work;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Defines a layer around a [`MemoryProvider`](durable_testkit::MemoryProvider)
/// that overrides some methods and may remember something.
macro_rules! fault {
    (
        $(#[$doc:meta])*
        $name:ident { $($field:ident: $type:ty),* }
        $($methods:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Default)]
        pub(crate) struct $name {
            store: durable_testkit::MemoryProvider,
            $($field: std::sync::Mutex<$type>,)*
        }

        #[async_trait::async_trait]
        impl durable_testkit::Layer for $name {
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
