//! The tester: collects histories, replays them, reports.

use std::fs;
use std::path::{Path, PathBuf};

use durable_core::filter::{Filter, InstanceQuery, Order, PageToken};
use durable_core::provider::{InstanceRecord, Provider, ProviderError, StatusKind};
use durable_core::{ExecutionId, History, InstanceId};
use durable_runtime::{Registry, Replayer, RuntimeOptions};

use super::file::{read_execution, read_histories};
use super::report::{ReplayEntry, ReplayOutcome, ReplayReport, ReplaySource};

/// How many instances are listed at once.
const PAGE: usize = 256;

/// Replays histories against registered code before it is deployed.
///
/// ```
/// use durable_runtime::{Activity, Failure, Orchestration, OrchestrationContext, Registry};
/// use durable_testkit::{HistoryBuilder, ReplayTester};
///
/// const GREET: Activity<String, String> = Activity::new("greet");
/// const HELLO: Orchestration<String, String> = Orchestration::new("hello");
///
/// async fn hello(ctx: OrchestrationContext, name: String) -> Result<String, Failure> {
///     ctx.activity(GREET, &name).await
/// }
///
/// let registry = Registry::builder().orchestration(HELLO, hello).build()?;
/// let recorded = HistoryBuilder::new("hello-1")
///     .started("hello", "Ada")
///     .activity("greet", "Ada")
///     .completed(2, "Hello, Ada!")
///     .returned("Hello, Ada!")
///     .build()?;
/// ReplayTester::new(registry).history(recorded).run().assert_ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// In a test of one's own, over files that were exported from production:
/// `ReplayTester::new(registry).folder("histories").run().assert_ok()`. Before a
/// deployment, over a store: [`run_store`](Self::run_store).
#[derive(Debug, Clone)]
#[must_use = "nothing is replayed before `run` or `run_store`"]
pub struct ReplayTester {
    registry: Registry,
    replayer: Replayer,
    given: Vec<Given>,
    filter: Filter,
}

#[derive(Debug, Clone)]
enum Given {
    History(Box<History>),
    File(PathBuf),
    Folder(PathBuf),
}

impl ReplayTester {
    /// Replays against this code.
    pub fn new(registry: Registry) -> Self {
        Self {
            replayer: Replayer::new(registry.clone()),
            registry,
            given: Vec::new(),
            filter: Filter::status_in([
                StatusKind::Pending,
                StatusKind::Running,
                StatusKind::Suspended,
            ]),
        }
    }

    /// Takes what orchestrations can feel, such as limits, from these options.
    pub fn options(mut self, options: &RuntimeOptions) -> Self {
        self.replayer = self.replayer.options(options);
        self
    }

    /// Adds a history.
    pub fn history(mut self, history: History) -> Self {
        self.given.push(Given::History(Box::new(history)));
        self
    }

    /// Adds a JSON file; see [`read_histories`].
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.given.push(Given::File(path.into()));
        self
    }

    /// Adds every `.json` file of a folder, in the order of their names. A folder
    /// without any is reported: it is seldom meant.
    pub fn folder(mut self, path: impl Into<PathBuf>) -> Self {
        self.given.push(Given::Folder(path.into()));
        self
    }

    /// Which instances of a store are replayed; those that have not ended, unless
    /// it is set.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Replays what was added.
    pub fn run(&self) -> ReplayReport {
        let mut replays = Vec::new();
        for given in &self.given {
            match given {
                Given::History(history) => {
                    replays.push(self.replay(ReplaySource::Given, history));
                }
                Given::File(path) => self.run_file(path, &mut replays),
                Given::Folder(path) => self.run_folder(path, &mut replays),
            }
        }
        ReplayReport { replays }
    }

    /// Replays the current execution of every instance in a store that the filter
    /// lets through. It only reads. What cannot be read of one instance is reported
    /// with that instance.
    ///
    /// # Errors
    ///
    /// The error of the store, if its instances could not be listed.
    pub async fn run_store(&self, provider: &dyn Provider) -> Result<ReplayReport, ProviderError> {
        let mut replays = Vec::new();
        let query = InstanceQuery::new(self.filter.clone()).ordered(Order::BY_ID);
        let mut next: Option<PageToken> = None;
        loop {
            let page = provider.instances(&query, next.as_ref(), PAGE).await?;
            for record in page.instances {
                replays.push(self.run_instance(provider, &record).await);
            }
            next = page.next;
            if next.is_none() {
                return Ok(ReplayReport { replays });
            }
        }
    }

    async fn run_instance(&self, provider: &dyn Provider, record: &InstanceRecord) -> ReplayEntry {
        let (instance, execution_id) = (&record.instance, record.execution_id);
        match read_execution(provider, instance, execution_id).await {
            Ok(history) if history.entries.is_empty() => {
                self.not_started(record, instance, execution_id)
            }
            Ok(history) => self.replay(ReplaySource::Store, &history),
            Err(error) => ReplayEntry {
                source: ReplaySource::Store,
                instance: Some(instance.clone()),
                execution_id: Some(execution_id),
                events: 0,
                outcome: match error {
                    ProviderError::Corrupt(corruption) => ReplayOutcome::Corrupt {
                        event_id: corruption.event_id,
                        message: corruption.to_string(),
                    },
                    error => ReplayOutcome::Unreadable {
                        reason: error.to_string(),
                    },
                },
            },
        }
    }

    /// Nothing is recorded yet: all that can be asked is whether the code is there.
    fn not_started(
        &self,
        record: &InstanceRecord,
        instance: &InstanceId,
        execution_id: ExecutionId,
    ) -> ReplayEntry {
        let is_registered = self.registry.orchestration_names().any(|(name, version)| {
            *name == record.name && record.version.as_ref().is_none_or(|v| *v == version)
        });
        let outcome = if is_registered {
            ReplayOutcome::Ok
        } else {
            ReplayOutcome::NotRegistered {
                name: record.name.clone(),
                version: record.version.clone(),
            }
        };
        ReplayEntry {
            source: ReplaySource::Store,
            instance: Some(instance.clone()),
            execution_id: Some(execution_id),
            events: 0,
            outcome,
        }
    }

    fn run_folder(&self, folder: &Path, replays: &mut Vec<ReplayEntry>) {
        let files = match json_files(folder) {
            Ok(files) => files,
            Err(error) => return replays.push(unreadable(folder, error.to_string())),
        };
        if files.is_empty() {
            replays.push(unreadable(folder, "no `.json` file is here".into()));
        }
        for file in files {
            self.run_file(&file, replays);
        }
    }

    fn run_file(&self, path: &Path, replays: &mut Vec<ReplayEntry>) {
        match read_histories(path) {
            Ok(histories) if histories.is_empty() => {
                replays.push(unreadable(path, "the file has no history".into()));
            }
            Ok(histories) => replays.extend(
                histories
                    .iter()
                    .map(|history| self.replay(ReplaySource::File(path.into()), history)),
            ),
            Err(error) => replays.push(unreadable(path, error.to_string())),
        }
    }

    fn replay(&self, source: ReplaySource, history: &History) -> ReplayEntry {
        ReplayEntry {
            source,
            instance: Some(history.instance.clone()),
            execution_id: Some(history.execution_id),
            events: history.entries.len(),
            outcome: ReplayOutcome::of(self.replayer.replay(history)),
        }
    }
}

fn unreadable(path: &Path, reason: String) -> ReplayEntry {
    ReplayEntry {
        source: ReplaySource::File(path.into()),
        instance: None,
        execution_id: None,
        events: 0,
        outcome: ReplayOutcome::Unreadable { reason },
    }
}

fn json_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
