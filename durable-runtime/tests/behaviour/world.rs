//! A store and the nodes on it, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::Provider;
use durable_core::{EventId, ExecutionId, HistoryEntry};
use durable_runtime::{Registry, Runtime, RuntimeOptions, TokioClock};
use durable_testkit::MemoryProvider;

/// When virtual time begins.
pub(crate) const EPOCH_MS: u64 = 1_700_000_000_000;

/// One store, in virtual time. Use it in tests with `start_paused = true`.
pub(crate) struct World {
    pub(crate) provider: Arc<MemoryProvider>,
    pub(crate) clock: TokioClock,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            provider: Arc::new(MemoryProvider::new()),
            clock: TokioClock::starting_at(EPOCH_MS),
        }
    }

    /// Starts a node with default options.
    pub(crate) async fn node(&self, registry: &Registry) -> Runtime {
        self.node_with(registry, RuntimeOptions::default()).await
    }

    pub(crate) async fn node_with(&self, registry: &Registry, options: RuntimeOptions) -> Runtime {
        Runtime::shared_builder(self.provider.clone(), registry.clone())
            .clock(self.clock)
            .options(options)
            .start()
            .await
            .unwrap()
    }

    /// The whole history of an execution.
    pub(crate) async fn history(&self, instance: &str, execution: u64) -> Vec<HistoryEntry> {
        self.provider
            .history(
                &instance.into(),
                ExecutionId::new(execution),
                EventId::UNASSIGNED,
                usize::MAX,
            )
            .await
            .unwrap()
            .entries
    }

    /// The kinds of the events of an execution, in order.
    pub(crate) async fn kinds(&self, instance: &str, execution: u64) -> Vec<&'static str> {
        let history = self.history(instance, execution).await;
        history
            .iter()
            .map(|entry| entry.event.kind().name())
            .collect()
    }
}

/// Stops a node in good order.
pub(crate) async fn stop(node: Runtime) {
    node.shutdown(Duration::from_secs(10)).await;
}
