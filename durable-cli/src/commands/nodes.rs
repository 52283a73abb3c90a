//! `durable nodes`: the nodes that live on the store, a line each.

use durable_core::provider::{ServedCode, SessionRecord};
use durable_core::{Name, Version};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::output::Output;
use crate::store::Store;
use crate::table::Table;
use crate::time::utc;

pub(crate) async fn nodes(store: &Store, output: Output) -> Result<(), CliError> {
    let nodes = store.provider().sessions().await?;
    if output.is_json {
        let nodes: Vec<_> = nodes.iter().map(to_json).collect();
        return output.json(&json!({ "nodes": nodes }));
    }
    if nodes.is_empty() {
        return output.line("no node lives on this store");
    }
    for line in table(&nodes).lines() {
        output.line(&line)?;
    }
    Ok(())
}

fn to_json(node: &SessionRecord) -> Value {
    json!({
        "session": node.session.0,
        "node": node.options.node,
        "orchestrations": node.options.code.as_ref().map(|code| &code.orchestrations),
        "activities": node.options.code.as_ref().map(|code| &code.activities),
        "queues": node.options.queues,
        "ends_at_ms": node.ends_at_ms,
    })
}

fn table(nodes: &[SessionRecord]) -> Table {
    let mut table = Table::new(&[
        "node",
        "session",
        "orchestrations",
        "activities",
        "queues",
        "lives until (UTC)",
    ]);
    for node in nodes {
        let code = node.options.code.as_ref();
        let queues = node.options.queues.iter();
        table.add([
            node.options.node.clone().into(),
            node.session.0.to_string().into(),
            code.map_or_else(|| "any".into(), orchestrations).into(),
            code.map_or_else(|| "any".into(), activities).into(),
            joined(queues.map(|queue| queue_name(queue.as_ref()))).into(),
            utc(node.ends_at_ms).into(),
        ]);
    }
    table
}

fn orchestrations(code: &ServedCode) -> String {
    joined(code.orchestrations.iter().map(|(name, versions)| {
        let versions: Vec<&str> = versions.iter().map(Version::as_str).collect();
        format!("{name} {}", versions.join(" "))
    }))
}

fn activities(code: &ServedCode) -> String {
    joined(code.activities.iter().map(ToString::to_string))
}

fn queue_name(queue: Option<&Name>) -> String {
    queue.map_or_else(|| "(default)".into(), ToString::to_string)
}

fn joined(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => "none".into(),
        false => names.join(", "),
    }
}
