//! `durable import`: exported histories into a store, each checked before anything
//! is written.

use std::path::{Path, PathBuf};

use durable_core::History;
use serde_json::json;

use crate::args::Import;
use crate::error::CliError;
use crate::importing::{Imported, Importer};
use crate::output::Output;
use crate::store::Store;
use crate::table::{counted, harmless};

pub(crate) async fn import(store: &Store, output: Output, args: &Import) -> Result<(), CliError> {
    let mut exports = Vec::new();
    for path in &args.files {
        exports.push((path, read(path)?));
    }
    let bar = output.progress(exports.len(), "importing");
    let importer = Importer::open(store).await?;
    let mut done = Vec::new();
    let mut failed = None;
    for (path, histories) in exports {
        match importer.import(histories, args.take_over).await {
            Ok(imported) => done.push((path.clone(), imported)),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
        bar.inc(1);
    }
    importer.close().await?;
    bar.finish_and_clear();
    tell(output, &done)?;
    failed.map_or(Ok(()), Err)
}

fn tell(output: Output, done: &[(PathBuf, Imported)]) -> Result<(), CliError> {
    if output.is_json {
        let imported: Vec<_> = done
            .iter()
            .map(|(path, imported)| {
                json!({
                    "file": path,
                    "instance": imported.instance,
                    "executions": imported.executions,
                    "events": imported.events,
                    "status": imported.status.to_string(),
                })
            })
            .collect();
        return output.json(&json!({ "imported": imported }));
    }
    for (_, imported) in done {
        output.line(&format!(
            "{}: {} in {}, {}",
            harmless(&imported.instance),
            counted(imported.events as u64, "event"),
            counted(imported.executions as u64, "execution"),
            imported.status
        ))?;
    }
    Ok(())
}

/// Reads and checks an export.
fn read(path: &Path) -> Result<Vec<History>, CliError> {
    let text = std::fs::read_to_string(path).map_err(|error| CliError::File {
        path: path.into(),
        what: "read",
        error,
    })?;
    let not_an_export = |reason: String| CliError::NotAnExport {
        path: path.into(),
        reason,
    };
    let histories: Vec<History> = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(&text),
        false => serde_json::from_str(&text).map(|history| vec![history]),
    }
    .map_err(|error| not_an_export(error.to_string()))?;
    let Some(first) = histories.first() else {
        return Err(not_an_export("it has no history".into()));
    };
    if histories.iter().any(|h| h.instance != first.instance) {
        return Err(not_an_export(
            "it has histories of several instances".into(),
        ));
    }
    for history in &histories {
        history.validate().map_err(|corruption| CliError::Corrupt {
            path: path.into(),
            corruption: Box::new(corruption),
        })?;
    }
    Ok(histories)
}
