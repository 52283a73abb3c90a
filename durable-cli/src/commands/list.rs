//! `durable list`: instances, a line each, in the order of their query.

use durable_core::filter::{Filter, InstanceQuery, Order};
use durable_core::provider::{InstancePage, InstanceRecord, InstanceStatus};
use serde_json::json;

use super::view;
use crate::args::List;
use crate::error::CliError;
use crate::filter::at_version;
use crate::output::{DIM, Output, status_style};
use crate::read::PAGE;
use crate::store::Store;
use crate::table::{Cell, Table, clipped};
use crate::time::{span, utc, whole_ms};

/// How much of a failure is shown, in characters.
const MAX_FAILURE: usize = 100;

pub(crate) async fn list(store: &Store, output: Output, list: &List) -> Result<(), CliError> {
    let query = match &list.page {
        Some(page) => page.query().clone(),
        None => query(store, list)?,
    };
    let page = page(store, list, &query).await?;
    if output.is_json {
        let instances: Vec<_> = page.instances.iter().map(view::record).collect();
        let query = query.to_string();
        let next = page.next;
        return output.json(&json!({ "instances": instances, "query": query, "next": next }));
    }
    if page.instances.is_empty() {
        return output.line(&none(&query.filter));
    }
    for line in table(&page.instances, store.now_ms()).lines() {
        output.line(&line)?;
    }
    match page.next {
        Some(next) => output.line(&format!("{DIM}there are more: --page {next}{DIM:#}")),
        None => Ok(()),
    }
}

fn query(store: &Store, list: &List) -> Result<InstanceQuery, CliError> {
    let now_ms = store.now_ms();
    let mut more = list.at.as_deref().map_or_else(Filter::all, at_version);
    if let Some(age) = list.newer_than {
        let since_ms = now_ms.saturating_sub(whole_ms(age));
        more = more.and(Filter::changed_since_ms(since_ms));
    }
    let query = list.filter.to_query(list.query.as_deref(), more, now_ms)?;
    Ok(match list.by_id {
        true => query.ordered(Order::BY_ID),
        false => query,
    })
}

/// What is said when there is none.
fn none(filter: &Filter) -> String {
    let mut said = String::from("no instances match");
    for (name, field) in filter.probable_mistakes() {
        said += &format!("; `{name}` is read as an attribute: did you mean `{field}`?");
    }
    said
}

/// As many as are asked for, from as many pages of the store as that takes.
async fn page(store: &Store, list: &List, query: &InstanceQuery) -> Result<InstancePage, CliError> {
    let instances = store.client().instances(query);
    let limit = list.limit.get();
    let mut found = InstancePage::default();
    found.next.clone_from(&list.page);
    loop {
        let max = PAGE.min(limit - found.instances.len());
        let page = instances.page(found.next.as_ref(), max).await?;
        found.instances.extend(page.instances);
        found.next = page.next;
        if found.next.is_none() || found.instances.len() >= limit {
            return Ok(found);
        }
    }
}

fn table(records: &[InstanceRecord], now_ms: u64) -> Table {
    let mut head = vec![
        "instance",
        "orchestration",
        "status",
        "events",
        "age",
        "changed (UTC)",
    ];
    let has_reasons = records.iter().any(|record| reason(record).is_some());
    if has_reasons {
        head.push("because");
    }
    let mut table = Table::new(&head);
    for record in records {
        let status = record.status.kind();
        let version = record.version.as_deref().unwrap_or("newest");
        let shown = match &record.blocked {
            Some(_) => format!("{status}, blocked"),
            None => status.to_string(),
        };
        let mut row: Vec<Cell> = vec![
            record.instance.to_string().into(),
            format!("{} {version}", record.name).into(),
            Cell::styled(shown, status_style(status)),
            record.last_event_id.to_string().into(),
            span(now_ms.saturating_sub(record.created_at_ms)).into(),
            utc(record.updated_at_ms).into(),
        ];
        if has_reasons {
            let reason = reason(record).unwrap_or_default();
            row.push(clipped(&reason, MAX_FAILURE).into());
        }
        table.add(row);
    }
    table
}

/// Why an instance has stopped, or cannot go on just now.
fn reason(record: &InstanceRecord) -> Option<String> {
    match &record.status {
        InstanceStatus::Suspended { failure }
        | InstanceStatus::Failed { failure }
        | InstanceStatus::Terminated { failure } => Some(failure),
        InstanceStatus::Pending | InstanceStatus::Running | InstanceStatus::Completed { .. } => {
            record.blocked.as_ref()
        }
    }
    .map(ToString::to_string)
}
