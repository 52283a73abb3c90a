//! A node: it opens a session, serves it, and opens another one if it is lost.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{Provider, ProviderError, SessionId, SessionOptions};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::client::Client;
use crate::clock::{Clock, SystemClock};
use crate::dispatch;
use crate::node::Node;
use crate::options::RuntimeOptions;
use crate::registry::Registry;

/// A node that runs orchestrations and activities.
///
/// Dropping it stops it at once, as a crash would: nothing is lost, and what it
/// held goes on elsewhere, or here after a restart, when its heartbeat bound has
/// passed. [`shutdown`](Self::shutdown) hands everything back in good order.
pub struct Runtime {
    client: Client,
    stop: CancellationToken,
    bound: watch::Sender<Duration>,
    supervisor: Option<JoinHandle<()>>,
}

/// Sets a node up.
#[must_use = "a node runs when it is started"]
pub struct RuntimeBuilder {
    provider: Arc<dyn Provider>,
    registry: Registry,
    options: RuntimeOptions,
    clock: Arc<dyn Clock>,
}

impl RuntimeBuilder {
    /// How the node behaves.
    pub fn options(mut self, options: RuntimeOptions) -> Self {
        self.options = options;
        self
    }

    /// Where the node takes its time from.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Opens a session and starts the node.
    pub async fn start(self) -> Result<Runtime, ProviderError> {
        let Self {
            provider,
            registry,
            options,
            clock,
        } = self;
        let client = Client::with_parts(Arc::clone(&provider), Arc::clone(&clock), options.limits);
        let parts = Parts {
            provider,
            registry: Arc::new(registry),
            options: Arc::new(options),
            clock,
        };
        let session = parts.open_session().await?;
        let stop = CancellationToken::new();
        let (bound, bound_receiver) = watch::channel(Duration::ZERO);
        let supervisor = tokio::spawn(supervise(parts, session, stop.clone(), bound_receiver));
        Ok(Runtime {
            client,
            stop,
            bound,
            supervisor: Some(supervisor),
        })
    }
}

impl Runtime {
    /// Sets a node up on this store, with this code.
    pub fn builder(provider: impl Provider, registry: Registry) -> RuntimeBuilder {
        Self::shared_builder(Arc::new(provider), registry)
    }

    /// As [`builder`](Self::builder), on a store that others use too.
    pub fn shared_builder(provider: Arc<dyn Provider>, registry: Registry) -> RuntimeBuilder {
        RuntimeBuilder {
            provider,
            registry,
            options: RuntimeOptions::default(),
            clock: Arc::new(SystemClock),
        }
    }

    /// A client of the same store.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Stops the node: nothing new is begun, turns and activities that run may end
    /// within `bound`, the rest is handed back.
    pub async fn shutdown(mut self, bound: Duration) {
        self.bound.send_replace(bound);
        self.stop.cancel();
        if let Some(supervisor) = self.supervisor.take() {
            // It can only fail by panicking, and then there is nothing to hand back.
            let _ = supervisor.await;
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(supervisor) = self.supervisor.take() {
            supervisor.abort();
        }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

impl fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeBuilder")
            .field("registry", &self.registry)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// What outlives a session.
struct Parts {
    provider: Arc<dyn Provider>,
    registry: Arc<Registry>,
    options: Arc<RuntimeOptions>,
    clock: Arc<dyn Clock>,
}

impl Parts {
    async fn open_session(&self) -> Result<SessionId, ProviderError> {
        let bound = self.options.heartbeat_bound.as_millis();
        let options = SessionOptions {
            node: self.options.node.clone(),
            heartbeat_bound_ms: u64::try_from(bound).unwrap_or(u64::MAX),
        };
        self.provider
            .open_session(options, self.clock.now_ms())
            .await
    }
}

/// Serves one session after the other until the node is stopped.
async fn supervise(
    parts: Parts,
    first: SessionId,
    stop: CancellationToken,
    bound: watch::Receiver<Duration>,
) {
    let mut session = first;
    loop {
        serve(&parts, session, &stop, &bound).await;
        if stop.is_cancelled() {
            return;
        }
        session = loop {
            match parts.open_session().await {
                Ok(session) => break session,
                Err(error) => {
                    tracing::warn!(node = %parts.options.node, %error, "no session could be opened");
                    parts.clock.sleep(Duration::from_secs(1)).await;
                }
            }
        };
    }
}

/// Serves a session until it is lost or the node is stopped.
async fn serve(
    parts: &Parts,
    session: SessionId,
    stop: &CancellationToken,
    bound: &watch::Receiver<Duration>,
) {
    let (foreign_wakes, foreign_woken) = mpsc::unbounded_channel();
    let node = Arc::new(Node::new(
        Arc::clone(&parts.provider),
        Arc::clone(&parts.registry),
        Arc::clone(&parts.options),
        Arc::clone(&parts.clock),
        session,
        foreign_wakes,
    ));
    // An aborted supervisor ends everything that belongs to the session.
    let _end = node.ended.clone().drop_guard();
    let spawn = |task: JoinTask| node.tasks.spawn(task);
    spawn(Box::pin(dispatch::serve_instances(Arc::clone(&node))));
    spawn(Box::pin(dispatch::serve_activities(Arc::clone(&node))));
    spawn(Box::pin(dispatch::serve_timers(Arc::clone(&node))));
    spawn(Box::pin(dispatch::serve_releases(Arc::clone(&node))));
    spawn(Box::pin(dispatch::keep_session(Arc::clone(&node))));
    spawn(Box::pin(dispatch::serve_foreign_wakes(
        Arc::clone(&node),
        foreign_woken,
    )));
    tokio::select! {
        () = node.ended.cancelled() => {
            node.draining.cancel();
        }
        () = stop.cancelled() => {
            let bound = *bound.borrow();
            drain(&node, bound).await;
        }
    }
    node.tasks.close();
    node.tasks.wait().await;
    let closed = parts
        .provider
        .close_session(session, parts.clock.now_ms())
        .await;
    if let Err(error) = closed {
        tracing::warn!(node = %parts.options.node, %error, "the session could not be closed");
    }
}

type JoinTask = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// Begins nothing new, and waits for what runs, but not for ever.
async fn drain(node: &Node, bound: Duration) {
    node.draining.cancel();
    let idle = async {
        let turns = node
            .turn_slots
            .acquire_many(max_permits(node.options.max_turns));
        let activities = node
            .activity_slots
            .acquire_many(max_permits(node.options.max_activities));
        let _ = tokio::join!(turns, activities);
    };
    tokio::select! {
        () = idle => {}
        () = node.clock.sleep(bound) => {}
        () = node.ended.cancelled() => {}
    }
    node.ended.cancel();
}

fn max_permits(slots: usize) -> u32 {
    u32::try_from(slots).unwrap_or(u32::MAX)
}
