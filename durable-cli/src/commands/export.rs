//! `durable export`: histories as JSON, in the form that the replay tester reads.
//!
//! An export is what was recorded. Messages that no turn has read yet are not in it.

use std::path::{Path, PathBuf};

use durable_core::{History, InstanceId};
use serde_json::json;

use crate::args::Export;
use crate::error::CliError;
use crate::output::Output;
use crate::read;
use crate::store::Store;
use crate::table::counted;

pub(crate) async fn export(store: &Store, output: Output, export: &Export) -> Result<(), CliError> {
    let ids = meant(store, export).await?;
    let Some(directory) = &export.out else {
        return match ids.as_slice() {
            [id] => {
                let histories = read::histories(store, id).await?;
                output.text(&text(&histories)?)
            }
            ids => Err(CliError::NeedsDirectory {
                instances: ids.len(),
            }),
        };
    };
    let written = |path: &Path| {
        let path = path.to_owned();
        move |error| CliError::File {
            path,
            what: "written",
            error,
        }
    };
    std::fs::create_dir_all(directory).map_err(written(directory))?;
    let bar = output.progress(ids.len(), "exporting");
    let mut files: Vec<PathBuf> = Vec::new();
    for id in &ids {
        let path = directory.join(file_name(id));
        let histories = read::histories(store, id).await?;
        std::fs::write(&path, text(&histories)?).map_err(written(&path))?;
        files.push(path);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if output.is_json {
        return output.json(&json!({ "files": files }));
    }
    let directory = directory.display();
    let instances = counted(files.len() as u64, "instance");
    output.line(&format!("wrote {instances} to {directory}"))
}

/// The named instances, which must exist, or those that match the filter.
async fn meant(store: &Store, export: &Export) -> Result<Vec<InstanceId>, CliError> {
    if export.ids.is_empty() {
        let records = read::records(store, &export.filter.to_filter(store.now_ms())?).await?;
        return Ok(records.into_iter().map(|record| record.instance).collect());
    }
    let mut ids = Vec::new();
    for id in &export.ids {
        ids.push(read::record(store, id).await?.instance);
    }
    Ok(ids)
}

fn text(histories: &[History]) -> Result<String, CliError> {
    let text = serde_json::to_string_pretty(histories).map_err(std::io::Error::from)?;
    Ok(text + "\n")
}

/// A file name that is different for every id, whatever stands in it.
fn file_name(id: &InstanceId) -> String {
    let mut name = String::new();
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            byte => name += &format!("%{byte:02x}"),
        }
    }
    name + ".json"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_do_not_leave_their_directory() {
        assert_eq!(file_name(&"order-7".into()), "order-7.json");
        assert_eq!(file_name(&"../a/1".into()), "%2e%2e%2fa%2f1.json");
        assert_ne!(file_name(&"a/b".into()), file_name(&"a%2fb".into()));
    }
}
