//! Where the suite gets its stores from.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use durable_core::provider::{Clock, Provider};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

type OpenStore = Arc<dyn Fn(Arc<dyn Clock>) -> BoxFuture<Arc<dyn Provider>> + Send + Sync>;

/// Opens a store, once or again and again, each time with a clock.
#[derive(Clone)]
pub(super) struct ConformanceStore {
    open: OpenStore,
    /// Whether `open` called again gives the same store.
    pub(super) opens_again: bool,
}

/// Makes fresh and empty stores.
pub(super) type StoreFactory = Arc<dyn Fn() -> ConformanceStore + Send + Sync>;

impl ConformanceStore {
    pub(super) async fn open(&self, clock: Arc<dyn Clock>) -> Arc<dyn Provider> {
        (self.open)(clock).await
    }
}

/// Makes stores that can be opened once.
pub(super) fn opened_once<P, Making>(
    make: impl Fn(Arc<dyn Clock>) -> Making + Send + Sync + 'static,
) -> StoreFactory
where
    P: Provider,
    Making: Future<Output = P> + Send + 'static,
{
    let make = Arc::new(make);
    Arc::new(move || {
        let make = Arc::clone(&make);
        ConformanceStore {
            open: Arc::new(move |clock| boxed_provider(make(clock))),
            opens_again: false,
        }
    })
}

/// Makes stores at a place, which can be opened any number of times.
pub(super) fn at_places<Place, P, Opening>(
    place: impl Fn() -> Place + Send + Sync + 'static,
    open: impl Fn(Arc<Place>, Arc<dyn Clock>) -> Opening + Send + Sync + 'static,
) -> StoreFactory
where
    Place: Send + Sync + 'static,
    P: Provider,
    Opening: Future<Output = P> + Send + 'static,
{
    let open = Arc::new(open);
    Arc::new(move || {
        let (place, open) = (Arc::new(place()), Arc::clone(&open));
        ConformanceStore {
            open: Arc::new(move |clock| boxed_provider(open(Arc::clone(&place), clock))),
            opens_again: true,
        }
    })
}

fn boxed_provider<P: Provider>(
    opening: impl Future<Output = P> + Send + 'static,
) -> BoxFuture<Arc<dyn Provider>> {
    Box::pin(async move {
        let provider: Arc<dyn Provider> = Arc::new(opening.await);
        provider
    })
}
