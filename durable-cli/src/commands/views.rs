//! `durable view`: what an instance shows of itself.

use durable_core::Name;
use durable_core::provider::ViewRecord;
use durable_runtime::InstanceHandle;
use futures::TryStreamExt as _;
use serde_json::{Value, json};

use super::view::published;
use crate::args::ViewArgs;
use crate::error::CliError;
use crate::output::Output;
use crate::store::Store;
use crate::table::{Table, clipped, harmless};
use crate::time::utc;

/// How much of a value a line shows.
const VALUE_COLUMNS: usize = 80;

pub(crate) async fn view(store: &Store, output: Output, args: &ViewArgs) -> Result<(), CliError> {
    let instance = store.client().instance::<(), Value>("", args.id.as_str());
    let Some(name) = &args.name else {
        return all(output, &instance).await;
    };
    let name = Name::from(name.as_str());
    if args.follow {
        return tokio::select! {
            result = follow(output, &instance, name) => result,
            _ = tokio::signal::ctrl_c() => Ok(()),
        };
    }
    let views = instance.views().await?;
    match views.iter().find(|view| view.name == name) {
        Some(view) if output.is_json => output.json(&published(view)),
        Some(view) => output.line(&harmless(&view.value)),
        None => Err(CliError::NoView {
            instance: instance.id().clone(),
            name: name.to_string(),
        }),
    }
}

async fn all(output: Output, instance: &InstanceHandle<Value>) -> Result<(), CliError> {
    let views = instance.views().await?;
    if output.is_json {
        let views: Vec<_> = views.iter().map(published).collect();
        return output.json(&json!({ "instance": instance.id(), "views": views }));
    }
    if views.is_empty() {
        return output.line("it has no views");
    }
    let mut table = Table::new(&["view", "changed (UTC)", "value"]);
    for view in &views {
        table.add([
            view.name.to_string().into(),
            utc(view.changed_at_ms).into(),
            clipped(&view.value, VALUE_COLUMNS).into(),
        ]);
    }
    for line in table.lines() {
        output.line(&line)?;
    }
    Ok(())
}

/// Writes the value, and every newer one as it comes.
async fn follow(
    output: Output,
    instance: &InstanceHandle<Value>,
    name: Name,
) -> Result<(), CliError> {
    let mut values = instance.view_records(name);
    while let Some(view) = values.try_next().await? {
        shown(output, &view)?;
    }
    Ok(())
}

fn shown(output: Output, view: &ViewRecord) -> Result<(), CliError> {
    match output.is_json {
        true => output.json_line(&published(view)),
        false => output.line(&harmless(&view.value)),
    }
}
