//! Connections for each tokio runtime that calls.
//!
//! A connection is driven by tasks of the runtime that opened it: while the workers of that
//! runtime are blocked, nothing comes through it. A node sends its heartbeats from a runtime of
//! its own, so they get a connection of their own.

use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use durable_core::provider::ProviderError;
use tokio::runtime::{Handle, Id};
use tokio::sync::OnceCell;
use tokio::task::AbortHandle;

use crate::connection::{Link, Nodes};
use crate::options::RedisOptions;

/// The connections of a store.
pub(crate) struct Links {
    /// The runtime in which the store was opened, and its connections.
    home: Id,
    home_link: Arc<Link>,
    is_cluster: bool,
    others: Mutex<HashMap<Id, Other>>,
}

/// The connections of another runtime. A task of that runtime owns them, so that they are gone
/// with it.
struct Other {
    link: Weak<OnceCell<Arc<Link>>>,
    owner: AbortHandle,
}

impl Links {
    /// These connections belong to the runtime that calls.
    pub(crate) fn new(home_link: Link) -> Self {
        Self {
            home: Handle::current().id(),
            is_cluster: home_link.cluster().is_some(),
            home_link: Arc::new(home_link),
            others: Mutex::default(),
        }
    }

    fn others(&self) -> MutexGuard<'_, HashMap<Id, Other>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connections of the runtime that calls; opens them if it has none.
    pub(crate) async fn here(
        &self,
        nodes: &Nodes,
        options: &RedisOptions,
    ) -> Result<Arc<Link>, ProviderError> {
        let runtime = Handle::current();
        if runtime.id() == self.home {
            return Ok(Arc::clone(&self.home_link));
        }
        let opening = async || {
            let options = options.clone().connections(1);
            nodes.link(self.is_cluster, &options).await.map(Arc::new)
        };
        let link = self.of(&runtime);
        link.get_or_try_init(opening).await.cloned()
    }

    fn of(&self, runtime: &Handle) -> Arc<OnceCell<Arc<Link>>> {
        let mut others = self.others();
        let known = others.get(&runtime.id());
        if let Some(link) = known.and_then(|other| other.link.upgrade()) {
            return link;
        }
        others.retain(|_, other| other.link.strong_count() > 0);
        let link = Arc::<OnceCell<Arc<Link>>>::default();
        let owned = Arc::clone(&link);
        let owner = runtime.spawn(async move {
            let _owned = owned;
            pending::<()>().await;
        });
        let other = Other {
            link: Arc::downgrade(&link),
            owner: owner.abort_handle(),
        };
        others.insert(runtime.id(), other);
        link
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        for other in self.others().values() {
            other.owner.abort();
        }
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links")
            .field("home", &self.home_link)
            .finish_non_exhaustive()
    }
}
