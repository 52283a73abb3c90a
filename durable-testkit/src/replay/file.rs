//! Histories as JSON files: one instance to a file, a list with one history for
//! each of its executions.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use durable_core::provider::{Provider, ProviderError};
use durable_core::{EventId, ExecutionId, History, InstanceId};

/// How many entries are read from a store at once.
const PAGE: usize = 1_000;

/// Why a file could not be read or written.
///
/// ```
/// use durable_testkit::{HistoryFileError, read_histories};
///
/// let error = read_histories("there/is/no/such/file.json").unwrap_err();
/// assert!(matches!(error, HistoryFileError::Io(_)));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum HistoryFileError {
    /// The file is not there, or cannot be used.
    Io(io::Error),
    /// It is no history, or no list of histories.
    Json(serde_json::Error),
}

/// Reads the histories of a file: a list of histories, or a single one.
///
/// See the example of [`write_histories`].
///
/// # Errors
///
/// [`HistoryFileError::Io`] if the file cannot be read, [`HistoryFileError::Json`] if it
/// holds no histories.
pub fn read_histories(path: impl AsRef<Path>) -> Result<Vec<History>, HistoryFileError> {
    let text = fs::read_to_string(path).map_err(HistoryFileError::Io)?;
    let is_list = text.trim_start().starts_with('[');
    let histories = if is_list {
        serde_json::from_str(&text)
    } else {
        serde_json::from_str(&text).map(|history| vec![history])
    };
    histories.map_err(HistoryFileError::Json)
}

/// Writes the histories of an instance to a file; what was there is replaced.
///
/// ```
/// use durable_testkit::{HistoryBuilder, read_histories, write_histories};
///
/// let history = HistoryBuilder::new("order-7").started("order", &7).returned(&7).build()?;
/// let path = std::env::temp_dir().join(format!("written-{}.json", std::process::id()));
/// write_histories(&path, &[history.clone()])?;
/// assert_eq!(read_histories(&path)?, [history]);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`HistoryFileError::Io`] if the file cannot be written, [`HistoryFileError::Json`] if a
/// history cannot be encoded.
pub fn write_histories(
    path: impl AsRef<Path>,
    histories: &[History],
) -> Result<(), HistoryFileError> {
    let text = histories_to_json(histories).map_err(HistoryFileError::Json)?;
    fs::write(path, text).map_err(HistoryFileError::Io)
}

/// The text of a file of histories: indented, with a line end at its end.
///
/// ```
/// use durable_testkit::{HistoryBuilder, histories_to_json};
///
/// let history = HistoryBuilder::new("order-7").started("order", &7).build()?;
/// assert!(histories_to_json(&[history])?.contains("order-7"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// A history cannot be encoded.
pub fn histories_to_json(histories: &[History]) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(histories)?;
    text.push('\n');
    Ok(text)
}

/// The histories of all executions of an instance that are still stored. An
/// instance that is not there has none.
///
/// ```
/// use durable_testkit::{MemoryProvider, export_histories, histories_to_json};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = MemoryProvider::new();
/// let histories = export_histories(&store, &"order-7".into()).await?;
/// assert_eq!(histories_to_json(&histories)?, "[]\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The error of the store, if it could not be read.
pub async fn export_histories(
    provider: &dyn Provider,
    instance: &InstanceId,
) -> Result<Vec<History>, ProviderError> {
    let mut histories = Vec::new();
    for execution in provider.executions(instance).await? {
        histories.push(read_execution(provider, instance, execution.execution_id).await?);
    }
    Ok(histories)
}

/// The whole history of one execution, page by page.
pub(super) async fn read_execution(
    provider: &dyn Provider,
    instance: &InstanceId,
    execution_id: ExecutionId,
) -> Result<History, ProviderError> {
    let mut history = History::new(instance.clone(), execution_id, Vec::new());
    let mut after = EventId::UNASSIGNED;
    loop {
        let page = provider
            .history(instance, execution_id, after, PAGE)
            .await?;
        after = match page.entries.last() {
            Some(last) => last.event_id(),
            None => return Ok(history),
        };
        history.entries.extend(page.entries);
        if !page.has_more {
            return Ok(history);
        }
    }
}

impl fmt::Display for HistoryFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Json(error) => write!(f, "not a history: {error}"),
        }
    }
}

impl std::error::Error for HistoryFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Json(error) => Some(error),
        }
    }
}
