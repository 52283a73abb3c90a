//! Bringing histories into a store, through the storage contract alone.
//!
//! An instance is started under a version that no node has, so that no node runs its
//! code meanwhile; then its events are committed as turns, and the last turn gives it
//! its true version and status. Work and timers that are open in the history of an
//! instance which has not ended are set up with it; it is left suspended by that turn and
//! then resumed, so that a node runs it at once: its history may end in an input to which
//! the code has not answered yet.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use durable_core::provider::{
    CommitId, CommitOutcome, IdReuse, InstanceStatus, InstanceUpdate, Lease, Message, MessageBody,
    NewWork, NextExecution, Release, SessionId, SessionOptions, SourceEvent, StartInstance,
    StartOutcome, StatusKind, TurnCommit, ViewUpdate,
};
use durable_core::{
    CommandKind, Event, EventId, ExecutionId, Failure, FailureKind, History, HistoryEntry,
    InstanceId, Name,
};
use durable_runtime::ClientError;

use crate::error::CliError;
use crate::operation::operations;
use crate::store::Store;

/// No node registers it: it is not the version of any code.
const NO_VERSION: &str = "0.0.0-importing";
/// How many ready instances are looked at together.
const LOOK_AT: usize = 64;
/// How many attempts are made to claim the instance while a node has it, and their interval.
const LOOKS: u32 = 100;
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Imports instances, one after the other.
pub(crate) struct Importer<'a> {
    store: &'a Store,
    session: SessionId,
    commits: Cell<u64>,
}

/// An instance that was imported.
pub(crate) struct Imported {
    pub(crate) instance: InstanceId,
    pub(crate) executions: usize,
    pub(crate) events: usize,
    pub(crate) status: StatusKind,
}

/// An instance whose lease the import holds.
struct Held {
    lease: Lease,
    execution_id: ExecutionId,
    last_event_id: EventId,
    consumed: Vec<durable_core::provider::InboxSeq>,
}

impl<'a> Importer<'a> {
    pub(crate) async fn open(store: &'a Store) -> Result<Self, CliError> {
        let options = SessionOptions::new("durable import").session_timeout_ms(60_000);
        let session = store.provider().open_session(options).await?;
        Ok(Self {
            store,
            session,
            commits: Cell::new(0),
        })
    }

    pub(crate) async fn close(self) -> Result<(), CliError> {
        let provider = self.store.provider();
        Ok(provider.close_session(self.session).await?)
    }

    /// Imports the histories of one instance, which must not be in the store.
    pub(crate) async fn import(
        &self,
        mut histories: Vec<History>,
        takes_over: bool,
    ) -> Result<Imported, CliError> {
        histories.sort_by_key(|history| history.execution_id);
        let plan = Plan::of(&histories, takes_over)?;
        let instance = &plan.last.instance;
        if self.store.provider().instance(instance).await?.is_some() {
            return Err(plan.refuse("it is in the store already", "purge it first, or leave it"));
        }
        let mut held: Option<Held> = None;
        for history in &histories {
            let mut current = match held.take() {
                // It continued as new, and its first event is there.
                Some(current) if current.execution_id == history.execution_id => current,
                _ => self.begin(history, &plan).await?,
            };
            self.turn(&mut current, history, &histories, &plan).await?;
            held = Some(current);
        }
        if plan.is_open() {
            let _ = self.store.provider().resume(instance).await?;
        }
        Ok(Imported {
            instance: instance.clone(),
            executions: histories.len(),
            events: histories.iter().map(|history| history.entries.len()).sum(),
            status: plan.status.kind(),
        })
    }

    /// Starts an execution and claims its instance.
    async fn begin(&self, history: &History, plan: &Plan<'_>) -> Result<Held, CliError> {
        let Some(Event::OrchestrationStarted {
            name,
            input,
            parent,
            ..
        }) = history.entries.first().map(|entry| &entry.event)
        else {
            return Err(plan.refuse("a history does not begin with its start", EXPORT_AGAIN));
        };
        let mut start = StartInstance::new(name.clone(), input.clone()).version(NO_VERSION.into());
        start.parent.clone_from(parent);
        let message = Message {
            message_id: format!("import/{}/{}", history.instance, history.execution_id).into(),
            body: MessageBody::Start(start),
        };
        let provider = self.store.provider();
        let started = provider
            .start(&history.instance, message, IdReuse::RestartEnded)
            .await?;
        match started {
            StartOutcome::Started { execution_id, .. } if execution_id == history.execution_id => {}
            StartOutcome::Started { execution_id, .. } => {
                // Without code of its version it would wait for ever.
                let handle = self
                    .store
                    .client()
                    .instance::<(), ()>("", &history.instance);
                handle.terminate("an import that could not be").await?;
                let reason = format!(
                    "the store gives it execution {execution_id}, and its history is of execution {}",
                    history.execution_id
                );
                return Err(plan.refuse(
                    reason,
                    "import into a store that never had it, with all of its executions",
                ));
            }
            StartOutcome::AlreadyRunning { execution_id }
            | StartOutcome::Taken { execution_id, .. } => {
                return Err(CliError::Client(ClientError::Taken {
                    instance: history.instance.clone(),
                    execution_id,
                    status: StatusKind::Running,
                }));
            }
        }
        self.take(&history.instance, plan).await
    }

    /// Claims the instance; gives the leases of all others back.
    async fn take(&self, instance: &InstanceId, plan: &Plan<'_>) -> Result<Held, CliError> {
        let provider = self.store.provider();
        for _ in 0..LOOKS {
            let mut others = Vec::new();
            let found = self.look_for(instance, &mut others).await;
            let others = others.into_iter().map(Release::new).collect();
            provider.release(others).await?;
            if let Some(found) = found? {
                return Ok(found);
            }
            // A node has claimed it, finds no code for its version and gives the lease back.
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Err(plan.refuse(
            "nodes at this store are busy with it",
            "stop the nodes, terminate and purge the instance, and import it again",
        ))
    }

    /// Looks through everything that is ready; the older ones come first.
    async fn look_for(
        &self,
        instance: &InstanceId,
        others: &mut Vec<Lease>,
    ) -> Result<Option<Held>, CliError> {
        loop {
            let ready = self
                .store
                .provider()
                .fetch_instances(self.session, LOOK_AT)
                .await?;
            if ready.instances.is_empty() {
                return Ok(None);
            }
            let mut found = None;
            for ready in ready.instances {
                if ready.lease.instance == *instance {
                    found = Some(Held {
                        lease: ready.lease,
                        execution_id: ready.execution_id,
                        last_event_id: ready.last_event_id,
                        consumed: ready.messages.iter().map(|message| message.seq).collect(),
                    });
                } else {
                    others.push(ready.lease);
                }
            }
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Commits the rest of an execution.
    async fn turn(
        &self,
        held: &mut Held,
        history: &History,
        histories: &[History],
        plan: &Plan<'_>,
    ) -> Result<(), CliError> {
        let is_last = history.execution_id == plan.last.execution_id;
        let next = histories
            .iter()
            .find(|next| next.execution_id == history.execution_id.next())
            .filter(|_| {
                ended_with(history, |event| {
                    matches!(event, Event::OrchestrationContinuedAsNew { .. })
                })
            });
        let number = self.commits.get();
        self.commits.set(number + 1);
        let skipped = usize::try_from(held.last_event_id.get()).unwrap_or(usize::MAX);
        let commit_id = CommitId(u128::from(self.session.0) << 64 | u128::from(number));
        let (lease, tail) = (held.lease.clone(), held.last_event_id);
        let mut turn = TurnCommit::new(commit_id, lease, history.execution_id, tail);
        turn.events = history.entries.iter().skip(skipped).cloned().collect();
        turn.next_execution = next.map(|next| {
            let first = next.entries.iter().take(1).cloned().collect();
            NextExecution::new(next.execution_id, first)
        });
        turn.consumed = std::mem::take(&mut held.consumed);
        turn.update = update(history);
        // What the execution before it left behind was published there.
        let mut views = std::mem::take(&mut turn.update.views);
        views.retain(|update| turn.view_change(update).is_some());
        turn.update.views = views;
        turn.keep_lease = next.is_some();
        if is_last {
            turn.update.status = Some(plan.status_before_resume());
            set_up_open(&mut turn, history);
        } else if next.is_none() {
            turn.update.status = ending(history);
        }
        match self.store.provider().commit(Arc::new(turn)).await? {
            CommitOutcome::Done(_) | CommitOutcome::AlreadyDone(_) => {}
            CommitOutcome::Fenced | CommitOutcome::Conflict { .. } => {
                return Err(plan.refuse(
                    "a node claimed it meanwhile",
                    "stop the nodes, terminate and purge the instance, and import it again",
                ));
            }
        }
        if let Some(next) = next {
            held.execution_id = next.execution_id;
            held.last_event_id = EventId::FIRST;
        }
        Ok(())
    }
}

const EXPORT_AGAIN: &str = "export it again with all of its executions";

/// What an import is to write last: the latest execution and the status of the instance.
struct Plan<'a> {
    last: &'a History,
    status: InstanceStatus,
}

impl<'a> Plan<'a> {
    fn of(histories: &'a [History], takes_over: bool) -> Result<Self, CliError> {
        let Some(last) = histories.last() else {
            return Err(CliError::CannotImport {
                instance: "".into(),
                reason: "it has no history".into(),
                hint: EXPORT_AGAIN,
            });
        };
        let status = ending(last).unwrap_or(InstanceStatus::Running);
        let plan = Self { last, status };
        if plan.is_open() && !takes_over {
            return Err(plan.refuse(
                "it has not ended, so it would go on here",
                "say `--take-over` if it is to, and stop it where it came from",
            ));
        }
        if histories[0].execution_id != ExecutionId::FIRST {
            return Err(plan.refuse("its first execution is missing", EXPORT_AGAIN));
        }
        let is_gapless = histories
            .windows(2)
            .all(|pair| pair[0].execution_id.next() == pair[1].execution_id);
        if !is_gapless {
            return Err(plan.refuse("an execution is missing or there twice", EXPORT_AGAIN));
        }
        let earlier = &histories[..histories.len() - 1];
        if !earlier
            .iter()
            .all(|history| ended_with(history, Event::is_terminal))
        {
            return Err(plan.refuse("an earlier execution has no end", EXPORT_AGAIN));
        }
        if ended_with(last, |event| {
            matches!(event, Event::OrchestrationContinuedAsNew { .. })
        }) {
            return Err(plan.refuse(
                "the execution that it continued in is missing",
                EXPORT_AGAIN,
            ));
        }
        Ok(plan)
    }

    /// Whether the instance is to go on in the store.
    fn is_open(&self) -> bool {
        !self.status.kind().is_ended()
    }

    /// The status that the last turn leaves the instance with.
    fn status_before_resume(&self) -> InstanceStatus {
        match self.is_open() {
            true => InstanceStatus::Suspended {
                failure: Failure::new(FailureKind::Suspended, "imported, and to be resumed"),
            },
            false => self.status.clone(),
        }
    }

    fn refuse(&self, reason: impl Into<String>, hint: &'static str) -> CliError {
        CliError::CannotImport {
            instance: self.last.instance.clone(),
            reason: reason.into(),
            hint,
        }
    }
}

fn ended_with(history: &History, is_so: impl Fn(&Event) -> bool) -> bool {
    history
        .entries
        .last()
        .is_some_and(|entry| is_so(&entry.event))
}

/// The status that a terminal event means.
fn ending(history: &History) -> Option<InstanceStatus> {
    Some(match &history.entries.last()?.event {
        Event::OrchestrationCompleted { output, .. } => InstanceStatus::Completed {
            output: output.clone(),
        },
        Event::OrchestrationFailed { failure, .. } => InstanceStatus::Failed {
            failure: failure.clone(),
        },
        Event::OrchestrationTerminated { failure, .. } => InstanceStatus::Terminated {
            failure: failure.clone(),
        },
        _ => return None,
    })
}

/// What the record is to say after an execution.
fn update(history: &History) -> InstanceUpdate {
    let mut update = InstanceUpdate::default();
    let view = |name: &Name, entry: &HistoryEntry| ViewUpdate {
        name: name.clone(),
        source: SourceEvent::new(history.execution_id, entry.event_id()),
    };
    for entry in &history.entries {
        match &entry.event {
            Event::OrchestrationStarted {
                name,
                version,
                carried,
                ..
            } => {
                update.running = Some((name.clone(), version.clone()));
                let carried = carried.as_deref().cloned().unwrap_or_default();
                let names = carried.views.iter().map(|(name, _)| name);
                update.views = names.map(|name| view(name, entry)).collect();
                update.attributes = Some(carried.attributes);
            }
            Event::ViewPublished { name, .. } | Event::ViewCleared { name, .. } => {
                update.views.retain(|update| update.name != *name);
                update.views.push(view(name, entry));
            }
            Event::AttributeSet { name, value, .. } => {
                let attributes = update.attributes.get_or_insert_default();
                attributes.set(name.clone(), value.clone());
            }
            Event::AttributeCleared { name, .. } => {
                update.attributes.get_or_insert_default().clear(name);
            }
            _ => {}
        }
    }
    update
}

/// Work and timers that the history leaves open.
fn set_up_open(turn: &mut TurnCommit, history: &History) {
    for operation in operations(history).iter().filter(|op| op.is_open()) {
        let source = SourceEvent::new(history.execution_id, operation.event_id);
        if operation.command.kind == CommandKind::Activity {
            let number = operation.command.number;
            turn.new_work.push(NewWork::new(source, number));
        }
        // A timer, or an activity with a total timeout.
        if turn.timer_due_ms(source).is_some() {
            turn.new_timers.push(source);
        }
    }
}
