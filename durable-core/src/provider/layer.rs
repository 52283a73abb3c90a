//! A provider around a provider: change what one method does, leave the others.
//!
//! Payload codecs, faults, delays and counters are layers. The trait, its defaults and
//! the provider are made from the one list of methods, so they cannot differ.

use alloc::boxed::Box;
use alloc::sync::Arc;

use async_trait::async_trait;

use super::contract::Provider;

macro_rules! layers {
    ($( async fn $method:ident(&self $(, $argument:ident: $type:ty)* $(,)?) -> $answer:ty; )*) => {
        /// Stands between a caller and a provider. Each method passes its call on
        /// unless it is overridden; see [`Layered`].
        #[async_trait]
        pub trait Layer: Send + Sync + 'static {
            /// The provider below.
            type Inner: Provider;

            /// The provider below.
            fn inner(&self) -> &Self::Inner;

            /// Passes on [`Provider::now_ms`].
            fn now_ms(&self) -> u64 {
                self.inner().now_ms()
            }

            $(
                #[doc = concat!("Passes on [`Provider::", stringify!($method), "`].")]
                async fn $method(&self $(, $argument: $type)*) -> $answer {
                    self.inner().$method($($argument),*).await
                }
            )*
        }

        #[async_trait]
        impl<L: Layer> Provider for Layered<L> {
            fn now_ms(&self) -> u64 {
                self.0.now_ms()
            }

            $(
                async fn $method(&self $(, $argument: $type)*) -> $answer {
                    self.0.$method($($argument),*).await
                }
            )*
        }

        /// A shared provider is a provider.
        #[async_trait]
        impl<P: Provider + ?Sized> Provider for Arc<P> {
            fn now_ms(&self) -> u64 {
                (**self).now_ms()
            }

            $(
                async fn $method(&self $(, $argument: $type)*) -> $answer {
                    (**self).$method($($argument),*).await
                }
            )*
        }
    };
}

/// A [`Layer`] as a provider.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use async_trait::async_trait;
/// use durable_core::provider::{Layer, Layered, Provider, ProviderError, ReadyInstances, SessionId};
///
/// /// Counts the fetches of instances.
/// struct CountFetches<P> {
///     store: P,
///     fetches: AtomicUsize,
/// }
///
/// #[async_trait]
/// impl<P: Provider> Layer for CountFetches<P> {
///     type Inner = P;
///
///     fn inner(&self) -> &P {
///         &self.store
///     }
///
///     async fn fetch_instances(
///         &self,
///         session: SessionId,
///         max: usize,
///     ) -> Result<ReadyInstances, ProviderError> {
///         self.fetches.fetch_add(1, Ordering::Relaxed);
///         self.store.fetch_instances(session, max).await
///     }
/// }
///
/// fn counted(store: impl Provider) -> impl Provider {
///     let fetches = AtomicUsize::new(0);
///     Layered(CountFetches { store, fetches })
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Layered<L>(pub L);

crate::provider_methods!(layers);
