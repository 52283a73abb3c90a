//! A store, a node on it and a replayer of the same code, in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use durable_core::filter::{InstanceQuery, Order};
use durable_core::provider::{InstanceRecord, InstanceStatus, Layered, Provider};
use durable_core::{Event, EventId, EventKind, ExecutionId, History, InstanceId};
use durable_runtime::{
    Client, InstanceHandle, Registry, ReplayRest, Replayer, Runtime, RuntimeOptions,
};
use durable_testkit::TokioClock;

use crate::recorder::{Recorder, Recording};

/// When virtual time begins.
pub(crate) const EPOCH_MS: u64 = 1_700_000_000_000;

/// A store, a node on it and a replayer. Use it in tests with `start_paused`.
pub(crate) struct World {
    pub(crate) provider: Arc<Recorder>,
    pub(crate) replayer: Replayer,
    registry: Registry,
    options: RuntimeOptions,
    node: Option<Runtime>,
}

/// How a node of a test behaves: everything may run at once.
pub(crate) fn options() -> RuntimeOptions {
    RuntimeOptions::default()
        .max_activities(10_000)
        .verify_replay(true)
}

/// As [`options`], but every turn begins with a replay.
pub(crate) fn forgetful() -> RuntimeOptions {
    options().cached_executions(1).verify_replay(false)
}

impl World {
    pub(crate) async fn new(registry: Registry) -> Self {
        Self::with(registry, options()).await
    }

    pub(crate) async fn with(registry: Registry, options: RuntimeOptions) -> Self {
        let mut world = Self {
            provider: Arc::new(Layered(Recording::new(TokioClock::starting_at(EPOCH_MS)))),
            replayer: Replayer::new(registry.clone()).options(&options),
            registry,
            options,
            node: None,
        };
        world.start().await;
        world
    }

    pub(crate) async fn start(&mut self) {
        let node = Runtime::builder(self.provider.clone(), self.registry.clone())
            .options(self.options.clone())
            .start()
            .await
            .unwrap();
        self.node = Some(node);
    }

    pub(crate) fn client(&self) -> Client {
        self.node.as_ref().unwrap().client()
    }

    pub(crate) async fn stop(&mut self) {
        if let Some(node) = self.node.take() {
            node.shutdown(Duration::from_secs(60)).await;
        }
    }

    /// Stops the node and starts another one, which remembers nothing.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.start().await;
    }

    /// A client of a node that was started anew.
    pub(crate) async fn client_after_restart(&mut self) -> Client {
        self.restart().await;
        self.client()
    }

    /// The same store with a node that has other code.
    pub(crate) async fn with_code(mut self, registry: Registry) -> Self {
        self.stop().await;
        self.replayer = Replayer::new(registry.clone()).options(&self.options);
        self.registry = registry;
        self.start().await;
        self
    }

    /// The whole history of an execution.
    pub(crate) async fn history(&self, instance: &InstanceId, execution: u64) -> History {
        let execution_id = ExecutionId::new(execution);
        let entries = self
            .provider
            .history(instance, execution_id, EventId::UNASSIGNED, usize::MAX)
            .await
            .unwrap()
            .entries;
        History::new(instance.clone(), execution_id, entries)
    }

    /// The kinds of the events of an execution, in order.
    pub(crate) async fn kinds(&self, instance: &str, execution: u64) -> Vec<&'static str> {
        let history = self.history(&instance.into(), execution).await;
        let entries = history.entries.iter();
        entries.map(|entry| entry.event.kind().name()).collect()
    }

    /// Every history in the store.
    pub(crate) async fn histories(&self) -> Vec<History> {
        let all = InstanceQuery::all().ordered(Order::BY_ID);
        let page = self.provider.instances(&all, None, usize::MAX).await;
        let mut histories = Vec::new();
        for record in page.unwrap().instances {
            let executions = self.provider.executions(&record.instance).await;
            for execution in executions.unwrap() {
                let number = execution.execution_id.get();
                histories.push(self.history(&record.instance, number).await);
            }
        }
        histories
    }

    /// Replays every execution of every instance in the store: whole, and at every
    /// commit; how many replays that were.
    pub(crate) async fn check_all(&self) -> usize {
        let histories = self.histories().await;
        histories.iter().map(|history| self.check(history)).sum()
    }

    /// Replays a history, whole and at every commit: it says all that the code does.
    pub(crate) fn check(&self, history: &History) -> usize {
        let mut boundaries = self
            .provider
            .0
            .boundaries(&history.instance, history.execution_id);
        boundaries.dedup();
        for &last in &boundaries {
            let replayed = match self.replayer.replay_up_to(history, last) {
                Ok(replayed) => replayed,
                Err(failure) => panic!("up to event {last}: {failure}\n{}", shown(history)),
            };
            assert!(
                replayed.is_exact(),
                "up to event {last} more was done: {:?}\n{}",
                replayed.appended,
                shown(history)
            );
            assert_eq!(replayed.consumed as u64, last.get());
            let entry = &history.entries[replayed.consumed - 1];
            let has_ended = entry.event.is_terminal();
            assert_eq!(
                replayed.rest == ReplayRest::Ended,
                has_ended,
                "{}",
                shown(history)
            );
        }
        assert_eq!(
            boundaries.last().copied(),
            history
                .entries
                .last()
                .map(durable_core::HistoryEntry::event_id)
        );
        boundaries.len()
    }

    /// Replays every beginning of a history, also those that no commit has ended
    /// with: what the code goes on to do is what stands there, in some order.
    pub(crate) fn check_every_prefix(&self, history: &History) {
        for cut in 1..history.entries.len() {
            let last = EventId::new(cut as u64);
            let mut rest_of_step = BTreeMap::new();
            let ahead = history.entries[cut..].iter().map(|entry| &entry.event);
            for event in ahead.take_while(|event| !event.is_input()) {
                *rest_of_step.entry(event.kind()).or_insert(0) += 1;
            }
            // Without its mark a patch is not taken: that is what marks are for. And what
            // was ended from outside may have had more to do.
            let is_clear = |kind| !rest_of_step.contains_key(kind);
            if ![EventKind::PatchMarked, EventKind::OrchestrationTerminated]
                .iter()
                .all(is_clear)
            {
                continue;
            }
            let replayed = match self.replayer.replay_up_to(history, last) {
                Ok(replayed) => replayed,
                Err(failure) => panic!("up to event {last}: {failure}\n{}", shown(history)),
            };
            for entry in &replayed.appended {
                let left = rest_of_step.entry(entry.event.kind()).or_insert(0);
                *left -= 1;
                assert!(
                    *left >= 0,
                    "up to event {last} also did {}\n{}",
                    entry.event,
                    shown(history)
                );
            }
            if replayed.rest != ReplayRest::BeforeRun {
                assert!(
                    rest_of_step.values().all(|left| *left == 0),
                    "up to event {last} left {rest_of_step:?} undone, did {:?}\n{}",
                    replayed.appended,
                    shown(history)
                );
            }
        }
    }
}

/// Waits until an instance has ended or stopped.
pub(crate) async fn settled<O>(instance: &InstanceHandle<O>) -> InstanceRecord {
    let wait = instance.wait_until(|record| {
        !matches!(
            record.status,
            InstanceStatus::Pending | InstanceStatus::Running
        )
    });
    match tokio::time::timeout(Duration::from_secs(3_600), wait).await {
        Ok(record) => record.unwrap(),
        Err(_) => panic!("{} hangs: {:?}", instance.id(), instance.record().await),
    }
}

/// A history for people.
pub(crate) fn shown(history: &History) -> String {
    let mut text = format!("{} execution {}:\n", history.instance, history.execution_id);
    for entry in &history.entries {
        let event: &Event = &entry.event;
        let line = format!(
            "{:>4} {:>6} {event}",
            event.event_id(),
            entry.recorded_at_ms.saturating_sub(EPOCH_MS)
        );
        text.push_str(&line);
        if let Some(source) = event.source_event_id() {
            text.push_str(&format!(" <- {source}"));
        }
        text.push('\n');
    }
    text
}
