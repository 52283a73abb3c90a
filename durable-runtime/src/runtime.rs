//! A node: it opens a session, serves it, and opens another one if it is lost or
//! in doubt.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{Provider, ProviderError, ServedCode, SessionId, SessionOptions};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client::Client;
use crate::dispatch::{self, Backoff};
use crate::node::{self, Node, NodeParts};
use crate::node_thread;
use crate::options::RuntimeOptions;
use crate::payload_codec::{ActiveCodec, PayloadCodec};
use crate::registry::Registry;
use crate::start_error::StartError;
use crate::watchdog;

/// How long tasks may take to release what they hold, and how long the store may
/// take to close a session.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// A session that lived longer was in order: the next one is opened without delay.
const LONG_LIVED: Duration = Duration::from_secs(10);

/// A node that runs orchestrations and activities.
///
/// Dropping it stops it at once, as a crash would: nothing is lost, and what it
/// held goes on elsewhere, or here after a restart, when its heartbeat bound has
/// passed. [`shutdown`](Self::shutdown) hands everything back in good order.
///
/// ```
/// use std::time::Duration;
/// use durable_runtime::{Failure, Orchestration, OrchestrationContext, Registry, Runtime};
/// use durable_testkit::MemoryProvider;
///
/// const HELLO: Orchestration<String, String> = Orchestration::new("hello");
///
/// async fn hello(_: OrchestrationContext, name: String) -> Result<String, Failure> {
///     Ok(format!("Hello, {name}!"))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::builder().orchestration(HELLO, hello).build()?;
/// let node = Runtime::builder(MemoryProvider::new(), registry).start().await?;
/// let hello = node.client().start(HELLO, "hello-1", &"Ada".into()).await?;
/// assert_eq!(hello.wait().await?, "Hello, Ada!");
/// node.shutdown(Duration::from_secs(5)).await;
/// # Ok(())
/// # }
/// ```
pub struct Runtime {
    client: Client,
    stop: CancellationToken,
    killed: CancellationToken,
    bound: watch::Sender<Duration>,
    supervisor: JoinHandle<()>,
}

/// Sets a node up.
#[must_use = "a node runs when it is started"]
pub struct RuntimeBuilder {
    provider: Arc<dyn Provider>,
    registry: Registry,
    options: RuntimeOptions,
    codec: ActiveCodec,
}

impl RuntimeBuilder {
    /// How the node behaves.
    pub fn options(mut self, options: RuntimeOptions) -> Self {
        self.options = options;
        self
    }

    /// Has payloads changed on their way into the store and back, for example
    /// encrypted. Every node and every client of the store needs the same codec.
    pub fn payload_codec(mut self, codec: impl PayloadCodec) -> Self {
        self.codec = ActiveCodec::new(codec);
        self
    }

    /// Opens a session and starts the node.
    ///
    /// # Errors
    ///
    /// [`StartError::NothingToRun`] if the node could run neither an orchestration nor an
    /// activity, and [`Provider`](StartError::Provider) if the store does not open a session.
    pub async fn start(self) -> Result<Runtime, StartError> {
        let Self {
            provider,
            registry,
            mut options,
            codec,
        } = self;
        StartError::check(&registry, &options)?;
        let client = Client::shared(Arc::clone(&provider))
            .with_limits(options.limits)
            .with_codec(codec.clone());
        options.limits = codec.plain_limits(options.limits);
        let killed = CancellationToken::new();
        let mut parts = NodeParts {
            provider: codec.store(provider),
            codec,
            registry: Arc::new(registry),
            options: Arc::new(options),
            killed: killed.clone(),
            thread: None,
        };
        let first = open_session(&parts).await?;
        parts.thread = node_thread::start(killed.clone());
        let stop = CancellationToken::new();
        let (bound, bound_receiver) = watch::channel(Duration::ZERO);
        let supervisor = Supervisor {
            parts,
            stop: stop.clone(),
            bound: bound_receiver,
            retiring: TaskTracker::new(),
        };
        let supervising = killed.clone();
        let supervisor = tokio::spawn(async move {
            // Heartbeats end with the caller's runtime, which drops this task.
            let _ends = supervising.clone().drop_guard();
            let _ = supervising.run_until_cancelled(supervisor.run(first)).await;
        });
        Ok(Runtime {
            client,
            stop,
            killed,
            bound,
            supervisor,
        })
    }
}

impl Runtime {
    /// Sets a node up on this store, with this code.
    ///
    /// It takes a provider or an `Arc` of one that other nodes and clients share.
    pub fn builder(provider: impl Provider, registry: Registry) -> RuntimeBuilder {
        RuntimeBuilder {
            provider: Arc::new(provider),
            registry,
            options: RuntimeOptions::default(),
            codec: ActiveCodec::default(),
        }
    }

    /// A client of the same store.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Stops the node: nothing new is begun, turns and activities that run may end
    /// within `bound`, the rest is handed back.
    ///
    /// It takes a few seconds longer than `bound` only if the store does not answer.
    pub async fn shutdown(mut self, bound: Duration) {
        self.bound.send_replace(bound);
        self.stop.cancel();
        // It can only fail by panicking, and then there is nothing to release.
        let _ = (&mut self.supervisor).await;
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.killed.cancel();
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

async fn open_session(parts: &NodeParts) -> Result<SessionId, ProviderError> {
    let bound = parts.options.session_timeout.as_millis();
    let options = SessionOptions::new(parts.options.node.clone())
        .session_timeout_ms(u64::try_from(bound).unwrap_or(u64::MAX))
        .code(served_code(parts))
        .queues(parts.options.queues.clone());
    parts.provider.open_session(options).await
}

/// What the node can run: what is registered, as far as it has slots for it.
fn served_code(parts: &NodeParts) -> ServedCode {
    let mut code = ServedCode::new();
    if parts.options.max_turns > 0 {
        for (name, version) in parts.registry.orchestration_names() {
            code = code.orchestration(name, version);
        }
    }
    if parts.options.max_activities > 0 {
        code.activities = parts.registry.activity_names().cloned().collect();
    }
    code
}

/// Serves one session after the other until the node is stopped.
struct Supervisor {
    parts: NodeParts,
    stop: CancellationToken,
    /// How long what runs may take when the node is stopped.
    bound: watch::Receiver<Duration>,
    /// Sessions that came into doubt and finish what they run.
    retiring: TaskTracker,
}

impl Supervisor {
    async fn run(self, first: SessionId) {
        let mut session = Some(first);
        let mut backoff = Backoff::default();
        while let Some(served) = session {
            let began = tokio::time::Instant::now();
            self.serve(served).await;
            if began.elapsed() > LONG_LIVED {
                backoff = Backoff::default();
            }
            session = self.reopen(&mut backoff).await;
        }
        self.retiring.close();
        self.retiring.wait().await;
    }

    /// Opens another session after a moment, unless the node is stopped.
    async fn reopen(&self, backoff: &mut Backoff) -> Option<SessionId> {
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                () = tokio::time::sleep(backoff.grow()) => {}
            }
            match open_session(&self.parts).await {
                Ok(session) => return Some(session),
                Err(error) => {
                    let node = &self.parts.options.node;
                    tracing::warn!(%node, %error, "no session could be opened");
                }
            }
        }
    }

    /// Serves a session until it is lost, comes into doubt, or the node is stopped.
    async fn serve(&self, session: SessionId) {
        let node = begin(&self.parts, session);
        tokio::select! {
            biased;
            () = node.ended.cancelled() => finish(&node).await,
            () = self.stop.cancelled() => {
                let bound = *self.bound.borrow();
                drain(&node, bound).await;
                finish(&node).await;
            }
            () = node.session_uncertain.cancelled() => self.retire(node),
        }
    }

    /// Lets a session in doubt finish what it runs while the next one takes over.
    fn retire(&self, node: Arc<Node>) {
        tracing::warn!(node = %node.options.node, session = %node.session, "a session is replaced");
        let (stop, bound) = (self.stop.clone(), self.bound.clone());
        let killed = node.killed.clone();
        let retiring = async move {
            let stopped = async {
                stop.cancelled().await;
                let bound = *bound.borrow();
                tokio::time::sleep(bound).await;
            };
            tokio::select! {
                biased;
                () = drain(&node, node.options.session_timeout) => {}
                () = stopped => {}
            }
            finish(&node).await;
        };
        self.retiring.spawn(async move {
            let _ = killed.run_until_cancelled(retiring).await;
        });
    }
}

/// Starts the tasks of a session.
fn begin(parts: &NodeParts, session: SessionId) -> Arc<Node> {
    let (stop_requests, requested_stops) = mpsc::unbounded_channel();
    let node = Arc::new(Node::new(parts, session, stop_requests));
    if node.options.max_turns > 0 {
        node.spawn(dispatch::serve_instances(Arc::clone(&node)));
    }
    if node.options.max_activities > 0 {
        node.spawn(dispatch::serve_activities(Arc::clone(&node)));
        node.spawn(dispatch::serve_cancellations(Arc::clone(&node)));
    }
    node.spawn(dispatch::serve_timers(Arc::clone(&node)));
    if let Some(retention) = node.options.retention {
        node.spawn(dispatch::serve_retention(Arc::clone(&node), retention));
    }
    node.spawn(dispatch::serve_releases(Arc::clone(&node)));
    node.spawn(dispatch::serve_stop_requests(
        Arc::clone(&node),
        requested_stops,
    ));
    node.spawn_apart(dispatch::keep_session(Arc::clone(&node)));
    if let Some(watchdog) = &node.watchdog {
        node.spawn_apart(watchdog::watch(Arc::clone(&node), Arc::clone(watchdog)));
    }
    node
}

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
        biased;
        () = idle => {}
        () = tokio::time::sleep(bound) => {}
        () = node.ended.cancelled() => {}
    }
}

/// Ends a session: what is still held is handed back.
async fn finish(node: &Node) {
    node.end();
    node.tasks.close();
    tokio::select! {
        biased;
        () = node.tasks.wait() => {}
        () = tokio::time::sleep(RELEASE_TIMEOUT) => {
            // What is cut off here may be in the middle of a turn.
            node.leave_session_open();
            node.killed.cancel();
        }
    }
    // A task that was killed may have been in the middle of a turn.
    if node.killed.is_cancelled() || node.is_left_open() {
        return;
    }
    tokio::select! {
        biased;
        () = close_session(node) => {}
        () = tokio::time::sleep(RELEASE_TIMEOUT) => {
            tracing::warn!(node = %node.options.node, "the session could not be closed in time");
        }
    }
}

async fn close_session(node: &Node) {
    let mut backoff = Backoff::default();
    while let Err(error) = node.provider.close_session(node.session).await {
        tracing::warn!(node = %node.options.node, %error, "the session could not be closed");
        tokio::time::sleep(backoff.grow()).await;
    }
}

fn max_permits(slots: usize) -> u32 {
    u32::try_from(node::slots(slots)).unwrap_or(u32::MAX)
}
