//! Requests and answers in a few words, for the timeline.

use durable_core::HistoryEntry;
use durable_core::provider::{
    ClaimedWork, CommitOutcome, Lease, MessageBody, OutgoingMessage, ProviderError, ReadyInstances,
    SendOutcome, TurnCommit, WorkResult, WorkSettlement,
};

pub(crate) fn handed_out(batch: &ReadyInstances) -> String {
    if batch.instances.is_empty() {
        return "nothing".into();
    }
    let lines = batch.instances.iter().map(|ready| {
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
    });
    lines.collect::<Vec<_>>().join("; ")
}

pub(crate) fn committed(
    turns: &[TurnCommit],
    answers: &[Result<CommitOutcome, ProviderError>],
) -> String {
    let lines = turns.iter().zip(answers).map(|(turn, answer)| {
        let answer = match answer {
            Ok(CommitOutcome::Done(done)) => format!("done{}", claims(&done.claimed)),
            Ok(CommitOutcome::AlreadyDone(_)) => "already done".into(),
            Ok(CommitOutcome::Fenced) => "fenced".into(),
            Ok(CommitOutcome::Conflict {
                execution_id,
                last_event_id,
            }) => format!("conflict: the tail is {execution_id}/{last_event_id}"),
            Err(error) => error.to_string(),
        };
        format!("{} -> {answer}", turn_text(turn))
    });
    lines.collect::<Vec<_>>().join("; ")
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

fn claims(claimed: &[ClaimedWork]) -> String {
    match claimed {
        [] => String::new(),
        claimed => format!(", claims {}", work(claimed)),
    }
}

pub(crate) fn work(claimed: &[ClaimedWork]) -> String {
    if claimed.is_empty() {
        return "nothing".into();
    }
    let lines = claimed.iter().map(|work| {
        let key = &work.lease.key;
        format!(
            "{} {}/{}/{} attempt {}",
            work.item.name, key.instance, key.execution_id, key.event_id, work.attempt
        )
    });
    lines.collect::<Vec<_>>().join("; ")
}

pub(crate) fn settlements(settlements: &[WorkSettlement]) -> String {
    let lines = settlements.iter().map(|settlement| {
        let key = &settlement.lease.key;
        let result = match &settlement.result {
            WorkResult::Finished(Ok(_)) => "finished",
            WorkResult::Finished(Err(_)) => "failed",
            WorkResult::Retry { .. } => "again",
            WorkResult::HandedBack { .. } => "handed back",
            WorkResult::Poisoned(_) => "poisoned",
        };
        format!(
            "{}/{}/{} {result}",
            key.instance, key.execution_id, key.event_id
        )
    });
    lines.collect::<Vec<_>>().join("; ")
}

pub(crate) fn sent(messages: &[OutgoingMessage], outcomes: &[SendOutcome]) -> String {
    let lines = messages.iter().zip(outcomes).map(|(sent, outcome)| {
        let (target, id) = (&sent.target, &sent.message.message_id);
        format!(
            "{} `{id}` to {target}: {outcome:?}",
            body(&sent.message.body)
        )
    });
    lines.collect::<Vec<_>>().join("; ")
}

pub(crate) fn leases(leases: &[Lease]) -> String {
    leases.iter().map(lease).collect::<Vec<_>>().join(", ")
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
        MessageBody::Cancel { .. } => "cancel".into(),
        MessageBody::Terminate { .. } => "terminate".into(),
        other => format!("{other:?}"),
    }
}
