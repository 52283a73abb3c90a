//! `durable list`: instances, a line each.

use durable_core::InstanceId;
use durable_core::provider::{InstancePage, InstanceRecord};
use serde_json::json;

use super::view;
use crate::args::List;
use crate::error::CliError;
use crate::output::{DIM, Output, status_style};
use crate::read::PAGE;
use crate::store::Store;
use crate::table::{Cell, Table};
use crate::time::{span, utc};

pub(crate) async fn list(store: &Store, output: Output, list: &List) -> Result<(), CliError> {
    let page = page(store, list).await?;
    if output.is_json {
        let instances: Vec<_> = page.instances.iter().map(view::record).collect();
        return output.json(&json!({ "instances": instances, "next": page.next }));
    }
    if page.instances.is_empty() {
        return output.line("no instances match");
    }
    for line in table(&page.instances, store.now_ms()).lines() {
        output.line(&line)?;
    }
    match page.next {
        Some(next) => output.line(&format!("{DIM}there are more: --after {next}{DIM:#}")),
        None => Ok(()),
    }
}

async fn page(store: &Store, list: &List) -> Result<InstancePage, CliError> {
    let filter = list.filter.to_filter(store.now_ms());
    let limit = list.limit.get();
    let mut found = InstancePage::default();
    found.next = list.after.as_deref().map(InstanceId::from);
    loop {
        let max = PAGE.min(limit - found.instances.len());
        let next = store
            .provider()
            .instances(&filter, found.next.as_ref(), max);
        let page = next.await?;
        found.instances.extend(page.instances);
        found.next = page.next;
        if found.next.is_none() || found.instances.len() >= limit {
            return Ok(found);
        }
    }
}

fn table(records: &[InstanceRecord], now_ms: u64) -> Table {
    let mut table = Table::new(&[
        "instance",
        "orchestration",
        "status",
        "events",
        "age",
        "changed (UTC)",
    ]);
    for record in records {
        let status = record.status.kind();
        let version = record.version.as_deref().unwrap_or("newest");
        let shown = match &record.blocked {
            Some(_) => format!("{status}, blocked"),
            None => status.to_string(),
        };
        table.add([
            record.instance.to_string().into(),
            format!("{} {version}", record.name).into(),
            Cell::styled(shown, status_style(status)),
            record.last_event_id.to_string().into(),
            span(now_ms.saturating_sub(record.created_at_ms)).into(),
            utc(record.updated_at_ms).into(),
        ]);
    }
    table
}
