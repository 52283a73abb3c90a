//! Stores in SQLite files. Opening one opens no session and takes no lease, so it does
//! not disturb nodes that use the file.

use std::path::{Path, PathBuf};

use durable_provider_sqlite::{SqliteOptions, SqliteProvider};

use super::{Missing, Soundness};
use crate::error::CliError;

pub(super) fn open(path: &Path, missing: Missing) -> Result<SqliteProvider, CliError> {
    let refuse = |reason| {
        Err(CliError::NotAStore {
            path: path.into(),
            reason,
        })
    };
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return refuse("it is a directory"),
        // Another process may be creating it just now.
        Ok(metadata) if metadata.len() == 0 && missing == Missing::IsAnError => {
            return refuse("the file is empty");
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if missing == Missing::IsAnError {
                return Err(CliError::StoreMissing { path: path.into() });
            }
        }
        Err(error) => {
            return Err(CliError::File {
                path: path.into(),
                what: "read",
                error,
            });
        }
    }
    let options = SqliteOptions::default().readers(1);
    Ok(SqliteProvider::open_with(path, options)?)
}

/// The size of the file and of its write-ahead log.
pub(super) fn bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    [path.to_owned(), PathBuf::from(log)]
        .iter()
        .filter_map(|path| std::fs::metadata(path).ok())
        .map(|metadata| metadata.len())
        .sum()
}

pub(super) async fn check(sqlite: &SqliteProvider) -> Result<Soundness, CliError> {
    let report = sqlite.integrity_check().await?;
    let damages = report.damages.iter().map(ToString::to_string);
    Ok(Soundness {
        records: report.records,
        findings: report.file.iter().cloned().chain(damages).collect(),
    })
}
