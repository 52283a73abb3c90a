//! Requests and answers in a few words, for the timeline.
//!
//! A type that only a new method of the contract takes or answers gets its line in the
//! table below; without it the simulator does not compile.

use std::sync::Arc;

use durable_core::provider::{
    CancelledWork, ClaimedWork, CommitOutcome, ExecutionRecord, FiredTimers, HeartbeatOutcome,
    HistoryPage, IdReuse, InboxPage, InboxSeq, InstanceFilter, InstancePage, InstanceRecord, Lease,
    Message, MessageBody, OpenWorkPage, OutgoingMessage, PoisonedPage, ProviderError, PruneReport,
    PruneRequest, PurgeReport, PurgeRequest, ReadyInstance, ReadyInstances, Release, SendOutcome,
    SessionId, SessionOptions, SessionRecord, SettleOutcome, SourceEvent, StartOutcome, TurnCommit,
    WakeSeq, WakeTopic, WorkBatch, WorkKey, WorkLease, WorkResult, WorkSettlement,
};
use durable_core::{EventId, ExecutionId, Failure, HistoryEntry, InstanceId, Name, Payload};

/// An argument or an answer of the contract.
pub(crate) trait Describe {
    /// In a few words. What concerns an instance names it.
    fn describe(&self) -> String;
}

macro_rules! describe {
    ($( $type:ty: |$value:ident| $text:expr; )*) => {
        $(
            impl Describe for $type {
                fn describe(&self) -> String {
                    let $value = self;
                    $text
                }
            }
        )*
    };
}

describe! {
    // What is asked for.
    usize: |max| format!("max {max}");
    SessionOptions: |options| options.node.clone();
    SessionId: |session| session.to_string();
    InstanceId: |instance| instance.to_string();
    ExecutionId: |execution_id| format!("execution {execution_id}");
    EventId: |event_id| format!("event {event_id}");
    InboxSeq: |seq| format!("message {}", seq.0);
    WakeSeq: |seq| format!("change {}", seq.0);
    WakeTopic: |topic| format!("{topic:?}");
    Arc<TurnCommit>: |turn| turn_text(turn);
    Vec<Release>: |releases| joined(releases, |release| lease(&release.lease));
    Vec<Option<Name>>: |queues| joined(queues, |queue| queue_text(queue.as_ref()));
    WorkSettlement: |settlement| settled(settlement);
    WorkLease: |lease| lease.key.describe();
    WorkKey: |key| format!("{}/{}/{}", key.instance, key.execution_id, key.event_id);
    SourceEvent: |source| source.to_string();
    Payload: |payload| format!("{} bytes", payload.len());
    Message: |message| format!("{} `{}`", body(&message.body), message.message_id);
    OutgoingMessage: |sent| format!("{} to {}", sent.message.describe(), sent.target);
    IdReuse: |reuse| format!("{reuse:?}");
    Failure: |failure| failure.to_string();
    InstanceFilter: |filter| format!("{filter:?}");
    PurgeRequest: |purge| format!("{purge:?}");
    PruneRequest: |prune| format!("{prune:?}");

    // What is answered.
    (): |_done| String::from("done");
    Vec<SessionRecord>: |sessions| format!("{} sessions", sessions.len());
    CancelledWork: |report| format!("{} cancelled", report.keys.len());
    ReadyInstances: |batch| joined(&batch.instances, handed_out);
    CommitOutcome: |outcome| committed(outcome);
    WorkBatch: |batch| joined(&batch.work, claimed);
    SettleOutcome: |outcome| format!("{outcome:?}");
    HeartbeatOutcome: |outcome| format!("{outcome:?}");
    FiredTimers: |fired| format!("{} fired", fired.fired);
    StartOutcome: |outcome| format!("{outcome:?}");
    SendOutcome: |outcome| format!("{outcome:?}");
    InstanceRecord: |record| record.status.kind().to_string();
    InstancePage: |page| format!("{} instances", page.instances.len());
    Vec<ExecutionRecord>: |records| format!("{} executions", records.len());
    HistoryPage: |page| format!("{} entries", page.entries.len());
    InboxPage: |page| format!("{} messages", page.messages.len());
    OpenWorkPage: |page| format!(
        "{} activities, {} timers", page.activities.len(), page.timers.len()
    );
    PoisonedPage: |page| format!("{} items", page.work.len());
    PurgeReport: |report| format!("{} instances", report.instances);
    PruneReport: |report| format!("{} executions", report.executions);
}

impl<T: Describe> Describe for Option<T> {
    fn describe(&self) -> String {
        self.as_ref().map_or_else(|| "none".into(), T::describe)
    }
}

impl<T: Describe> Describe for Result<T, ProviderError> {
    fn describe(&self) -> String {
        match self {
            Ok(answer) => answer.describe(),
            Err(error) => error.to_string(),
        }
    }
}

fn joined<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    match items {
        [] => "nothing".into(),
        items => items.iter().map(text).collect::<Vec<_>>().join("; "),
    }
}

fn queue_text(queue: Option<&Name>) -> String {
    queue.map_or_else(|| "default queue".into(), ToString::to_string)
}

fn handed_out(ready: &ReadyInstance) -> String {
    let messages = ready
        .messages
        .iter()
        .map(|inbox| body(&inbox.message.body))
        .collect::<Vec<_>>()
        .join(", ");
    let crashes = match ready.crashes {
        0 => String::new(),
        crashes => format!(" after {crashes} crashes"),
    };
    format!("{} [{messages}]{crashes}", lease(&ready.lease))
}

fn committed(outcome: &CommitOutcome) -> String {
    match outcome {
        CommitOutcome::Done(done) if done.claimed.is_empty() => "done".into(),
        CommitOutcome::Done(done) => format!("done, claims {}", joined(&done.claimed, claimed)),
        CommitOutcome::AlreadyDone(_) => "already done".into(),
        CommitOutcome::Fenced => "fenced".into(),
        CommitOutcome::Conflict {
            execution_id,
            last_event_id,
        } => format!("conflict: the tail is {execution_id}/{last_event_id}"),
    }
}

fn turn_text(turn: &TurnCommit) -> String {
    let mut text = format!(
        "{} {}/{}+[{}]",
        lease(&turn.lease),
        turn.execution_id,
        turn.expected_last_event_id,
        kinds(&turn.events)
    );
    if let Some(next) = &turn.next_execution {
        text.push_str(&format!(" then [{}]", kinds(&next.events)));
    }
    if !turn.consumed.is_empty() {
        text.push_str(&format!(" consumes {}", turn.consumed.len()));
    }
    if let Some(status) = &turn.update.status {
        text.push_str(&format!(" {}", status.kind()));
    }
    if turn.update.blocked.is_some() {
        text.push_str(" blocked");
    }
    if turn.keep_lease {
        text.push_str(" keeps");
    }
    text
}

fn kinds(entries: &[HistoryEntry]) -> String {
    let names: Vec<&str> = entries
        .iter()
        .map(|entry| entry.event.kind().name())
        .collect();
    names.join(" ")
}

fn claimed(work: &ClaimedWork) -> String {
    let (name, key) = (&work.item.name, work.lease.describe());
    format!("{name} {key} attempt {}", work.attempt)
}

fn settled(settlement: &WorkSettlement) -> String {
    let result = match &settlement.result {
        WorkResult::Finished(Ok(_)) => "finished",
        WorkResult::Finished(Err(_)) => "failed",
        WorkResult::Retry { .. } => "again",
        WorkResult::HandedBack { .. } => "handed back",
        WorkResult::Poisoned(_) => "poisoned",
    };
    format!("{} {result}", settlement.lease.describe())
}

fn lease(lease: &Lease) -> String {
    format!("{}#{}@{}", lease.instance, lease.token, lease.session.0)
}

fn body(body: &MessageBody) -> String {
    match body {
        MessageBody::Start(start) => format!("start {}", start.name),
        MessageBody::ActivityFinished {
            source_event_id, ..
        } => format!("activity {source_event_id}"),
        MessageBody::TimerFired {
            source_event_id, ..
        } => format!("timer {source_event_id}"),
        MessageBody::SubOrchestrationFinished {
            source_event_id, ..
        } => format!("child {source_event_id}"),
        MessageBody::ExternalRaised { name, .. } => format!("event {name}"),
        MessageBody::PromiseSettled { number, .. } => format!("promise {number}"),
        MessageBody::Receipt {
            source_event_id,
            outcome,
            ..
        } => format!("receipt {source_event_id} {outcome:?}"),
        MessageBody::Cancel { .. } => "cancel".into(),
        MessageBody::Terminate { .. } => "terminate".into(),
        MessageBody::DeadlinePassed { .. } => "deadline".into(),
        other => format!("{other:?}"),
    }
}
