//! `durable show`: one instance, where it stands and what it waits for.

use durable_core::provider::{InstanceRecord, InstanceStatus, SourceEvent, WorkState};
use durable_core::{AttributeValue, CommandKind};
use durable_runtime::{ActivityStatus, SuspendedChild};
use serde_json::{Value, json};

use super::view;
use crate::error::CliError;
use crate::operation::{Operation, operations};
use crate::output::{BOLD, DIM, Output, status_style};
use crate::read;
use crate::store::Store;
use crate::table::{counted, harmless};
use crate::time::{span, utc};

pub(crate) async fn show(store: &Store, output: Output, id: &str) -> Result<(), CliError> {
    let record = read::record(store, id).await?;
    let history = read::history(store, &record.instance, record.execution_id).await?;
    let mut open = operations(&history);
    open.retain(Operation::is_open);
    let executions = store.provider().executions(&record.instance).await?;
    let instance = store
        .client()
        .instance::<(), Value>(&*record.name, record.instance.clone());
    let suspended = instance.suspended_children().await?;
    let activities = instance.activities().await?;
    // It is the first of all timers.
    let first = store
        .provider()
        .open_work(&record.instance, None, 1)
        .await?;
    let deadline = first.timers.iter().find(|timer| timer.is_deadline());
    let deadline_ms = deadline.map(|timer| timer.fire_at_ms);
    if output.is_json {
        let mut shown = view::record(&record);
        shown["deadline_ms"] = json!(deadline_ms);
        shown["waits_for"] = open.iter().map(view::operation).collect();
        shown["activities"] = activities.iter().map(view::activity).collect();
        shown["suspended_children"] = suspended.iter().map(view::suspended_child).collect();
        shown["executions"] = json!(executions);
        return output.json(&shown);
    }
    head(output, &record, store.now_ms())?;
    if let Some(deadline_ms) = deadline_ms {
        field(output, "deadline", &when(deadline_ms, store.now_ms()))?;
    }
    if executions.len() > 1 {
        field(output, "executions", &executions.len().to_string())?;
    }
    waits(output, &record, &open, &activities, store.now_ms())?;
    for child in &suspended {
        let SuspendedChild {
            instance, failure, ..
        } = child;
        let next = format!("durable resume {instance}");
        let line = format!("child `{instance}` is suspended: {failure}; `{next}` lets it go on");
        output.line(&format!("  {}", harmless(&line)))?;
    }
    Ok(())
}

fn field(output: Output, name: &str, value: &str) -> Result<(), CliError> {
    output.line(&format!("  {DIM}{name:<13}{DIM:#} {}", harmless(value)))
}

fn head(output: Output, record: &InstanceRecord, now_ms: u64) -> Result<(), CliError> {
    let status = record.status.kind();
    let style = status_style(status);
    let id = harmless(&record.instance);
    output.line(&format!("{BOLD}{id}{BOLD:#}  {style}{status}{style:#}"))?;
    let version = record.version.as_deref().unwrap_or("(the newest)");
    field(
        output,
        "orchestration",
        &format!("{} {version}", record.name),
    )?;
    let events = counted(record.last_event_id.get(), "event");
    let position = format!("{}, {events}", record.execution_id);
    field(output, "execution", &position)?;
    field(output, "started", &utc(record.created_at_ms))?;
    let ago = span(now_ms.saturating_sub(record.updated_at_ms));
    let changed = format!("{} ({ago} ago)", utc(record.updated_at_ms));
    field(output, "changed", &changed)?;
    if let Some(parent) = &record.parent {
        let parent = format!(
            "{}, execution {}, event {}",
            parent.instance, parent.execution_id, parent.event_id
        );
        field(output, "parent", &parent)?;
    }
    if let Some(status) = &record.custom_status {
        field(output, "says", status)?;
    }
    for (name, value) in record.attributes.iter() {
        field(output, name, &attribute(value))?;
    }
    match &record.status {
        InstanceStatus::Completed { output: value } => field(output, "output", value)?,
        InstanceStatus::Suspended { failure }
        | InstanceStatus::Failed { failure }
        | InstanceStatus::Terminated { failure } => {
            field(output, "because", &failure.to_string())?;
        }
        InstanceStatus::Pending | InstanceStatus::Running => {}
    }
    if let Some(blocked) = &record.blocked {
        field(output, "blocked", &blocked.to_string())?;
    }
    Ok(())
}

/// The value of an attribute, for people.
fn attribute(value: &AttributeValue) -> String {
    match value {
        AttributeValue::Text(text) => text.clone(),
        AttributeValue::Integer(number) => number.to_string(),
        AttributeValue::Time(time_ms) => {
            u64::try_from(*time_ms).map_or_else(|_| format!("{time_ms} ms"), utc)
        }
        AttributeValue::Bool(truth) => truth.to_string(),
    }
}

fn waits(
    output: Output,
    record: &InstanceRecord,
    open: &[Operation],
    activities: &[ActivityStatus],
    now_ms: u64,
) -> Result<(), CliError> {
    match &record.status {
        InstanceStatus::Pending => {
            let begins_at_ms = record.begins_at_ms.filter(|at_ms| *at_ms > now_ms);
            return output.line(&match begins_at_ms {
                Some(at_ms) => format!("  begins at {}", when(at_ms, now_ms)),
                None => "  waits for a node that runs its orchestration".into(),
            });
        }
        InstanceStatus::Suspended { .. } => {
            let next = format!("durable resume {}", record.instance);
            output.line(&format!("  waits to be resumed: `{}`", harmless(&next)))?;
        }
        InstanceStatus::Running if open.is_empty() => {
            return output.line("  waits for a node that runs its next turn");
        }
        _ => {}
    }
    if !open.is_empty() {
        output.line("  waits for")?;
    }
    for operation in open {
        output.line(&format!(
            "    {DIM}{:>4}{DIM:#} {}",
            operation.event_id,
            harmless(&wait(operation, now_ms))
        ))?;
        let is_own = |activity: &&ActivityStatus| {
            activity.work.source() == SourceEvent::new(record.execution_id, operation.event_id)
        };
        for line in activities
            .iter()
            .filter(is_own)
            .flat_map(|activity| call(activity, now_ms))
        {
            output.line(&format!("         {DIM}{}{DIM:#}", harmless(&line)))?;
        }
    }
    if open.iter().any(|operation| !operation.is_certain) {
        let note = "perhaps: the history does not say when code stops listening";
        output.line(&format!("  {DIM}{note}{DIM:#}"))?;
    }
    Ok(())
}

/// What is known of an activity call that is open, line by line.
fn call(activity: &ActivityStatus, now_ms: u64) -> Vec<String> {
    let work = &activity.work;
    let place = match work.state {
        WorkState::Held { session } => format!("runs, held by session {session}"),
        WorkState::Queued { ready_at_ms } => match work.delayed_until_ms(now_ms) {
            Some(at_ms) => format!(
                "next attempt {} (in {})",
                utc(at_ms),
                span(at_ms.saturating_sub(now_ms))
            ),
            None => {
                let waited = span(now_ms.saturating_sub(ready_at_ms));
                format!("waits for a node since {waited}")
            }
        },
    };
    let queue = work.item.options.queue.as_ref();
    let queue = queue.map_or_else(String::new, |queue| format!(", queue `{queue}`"));
    let crashes = match work.crashes {
        0 => String::new(),
        1 => String::from(", 1 crash"),
        crashes => format!(", {crashes} crashes"),
    };
    let cancelled = match work.is_cancelled {
        true => ", cancelled",
        false => "",
    };
    let attempt = work.delivery();
    let mut lines = vec![format!(
        "attempt {attempt}{crashes}{queue}: {place}{cancelled}"
    )];
    let failed = work.last_failure.as_ref();
    lines.extend(failed.map(|failure| format!("failed before: {failure}")));
    let heartbeat = work.heartbeat.as_ref();
    lines.extend(heartbeat.map(|details| format!("heartbeat: {}", details.as_str())));
    lines.extend(activity.blocked.as_ref().map(ToString::to_string));
    lines
}

/// A time, and how far it is from now.
fn when(at_ms: u64, now_ms: u64) -> String {
    let distance = match at_ms.checked_sub(now_ms) {
        Some(left) => format!("in {}", span(left)),
        None => format!("{} ago", span(now_ms - at_ms)),
    };
    format!("{} ({distance})", utc(at_ms))
}

fn wait(operation: &Operation, now_ms: u64) -> String {
    let name = operation.name.as_deref().unwrap_or_default();
    let target = operation.target.as_deref().unwrap_or_default();
    let since = span(now_ms.saturating_sub(operation.begun_at_ms));
    let perhaps = match operation.is_certain {
        true => "",
        false => "perhaps ",
    };
    let what = match operation.command.kind {
        CommandKind::Timer => {
            let due = operation.due_at_ms.unwrap_or_default();
            return format!("timer, due {}", when(due, now_ms));
        }
        CommandKind::External => format!("event `{name}`"),
        CommandKind::Promise => format!("promise `{name}`, token {target}"),
        CommandKind::Message => format!("the receipt of event `{name}` to `{target}`"),
        CommandKind::SubOrchestration => format!("child `{target}` of `{name}`"),
        _ => format!("activity `{name}`"),
    };
    format!("{perhaps}{what}, since {since}")
}
