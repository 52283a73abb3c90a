//! `durable check`: what the store says of itself, and every history read and
//! validated. It changes nothing and takes no lease.

use durable_core::filter::Filter;
use durable_core::provider::InstanceRecord;
use serde_json::json;

use crate::error::CliError;
use crate::output::Output;
use crate::read;
use crate::store::Store;
use crate::table::{counted, harmless};

pub(crate) async fn check(store: &Store, output: Output) -> Result<(), CliError> {
    let soundness = store.check().await?;
    let mut findings = soundness.findings;
    let mut events = 0;
    let records = match read::records(store, &Filter::all()).await {
        Ok(records) => records,
        Err(error) => {
            findings.push(error.to_string());
            Vec::new()
        }
    };
    let bar = output.progress(records.len(), "checking");
    for record in &records {
        match instance(store, record).await {
            Ok(read) => events += read,
            Err(error) => findings.push(error.to_string()),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if output.is_json {
        output.json(&json!({
            "sound": findings.is_empty(),
            "records": soundness.records,
            "instances": records.len(),
            "events": events,
            "findings": findings,
        }))?;
    } else {
        for finding in &findings {
            output.line(&harmless(finding))?;
        }
        output.line(&format!(
            "checked {}, {}, {}",
            counted(records.len() as u64, "instance"),
            counted(events as u64, "event"),
            counted(soundness.records, "record")
        ))?;
    }
    match findings.len() {
        0 => Ok(()),
        findings => Err(CliError::Unsound { findings }),
    }
}

/// Validates every history of an instance; how many events it has.
async fn instance(store: &Store, record: &InstanceRecord) -> Result<usize, CliError> {
    let mut events = 0;
    for history in read::histories(store, &record.instance).await? {
        let corrupt =
            |corruption| durable_core::provider::ProviderError::Corrupt(Box::new(corruption));
        history.validate().map_err(corrupt)?;
        events += history.entries.len();
    }
    Ok(events)
}
