//! The errors of the command: what happened, to what, and what to do.

use std::fmt;
use std::path::PathBuf;

use durable_core::provider::ProviderError;
use durable_core::{Corruption, ExecutionId, InstanceId};
use durable_runtime::{Admission, ClientError, RequestError};
use serde_json::Value;

use crate::store::Location;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum CliError {
    /// No store was named.
    NoStore,
    /// There is no such file.
    StoreMissing { path: PathBuf },
    /// The path is a directory, or the file is empty.
    NotAStore { path: PathBuf, reason: &'static str },
    /// Stores of this kind are not built in.
    NotBuiltIn { scheme: String },
    /// The server of the store does not answer, or is not fit for it.
    NotOpened {
        location: Location,
        error: ProviderError,
    },
    /// The store refused, or could not be reached.
    Store(ProviderError),
    /// The instance or the request is not as it must be.
    Client(ClientError),
    /// A request has no answer.
    Request(Box<RequestError<Value>>),
    /// The instance has no such execution.
    NoExecution {
        instance: InstanceId,
        execution_id: u64,
        latest: ExecutionId,
    },
    /// The instance has no such view.
    NoView { instance: InstanceId, name: String },
    /// A file could not be read or written.
    File {
        path: PathBuf,
        what: &'static str,
        error: std::io::Error,
    },
    /// The file is no export.
    NotAnExport { path: PathBuf, reason: String },
    /// An exported history is corrupt.
    Corrupt {
        path: PathBuf,
        corruption: Box<Corruption>,
    },
    /// An instance cannot be imported.
    CannotImport {
        instance: InstanceId,
        reason: String,
        hint: &'static str,
    },
    /// Several instances, and no directory for their files.
    NeedsDirectory { instances: usize },
    /// A purge without a filter and without `--all`.
    PurgeNeedsFilter,
    /// A prune without a filter and without `--all`.
    PruneNeedsFilter,
    /// The check found damage.
    Unsound { findings: usize },
    /// The command failed for some of the instances; each failure was reported.
    SomeFailed { failed: usize, of: usize },
    /// A command for certain instances names none, or names them in two ways.
    WhichInstances { are_named: bool },
    /// Standard output is closed, or the program cannot run here.
    Output(std::io::Error),
}

impl CliError {
    /// The kind of the error, for programs.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::NoStore => "no_store",
            Self::StoreMissing { .. } => "store_missing",
            Self::NotAStore { .. } => "not_a_store",
            Self::NotBuiltIn { .. } => "not_built_in",
            Self::Store(error)
            | Self::NotOpened { error, .. }
            | Self::Client(ClientError::Provider(error)) => store_kind(error),
            Self::Client(ClientError::NotFound { .. }) => "not_found",
            Self::Client(ClientError::Ended { .. }) => "ended",
            Self::Client(ClientError::Taken { .. }) => "taken",
            Self::Client(ClientError::Filter(_)) => "filter",
            Self::Client(_) => "refused",
            Self::Request(error) => request_kind(error),
            Self::NoExecution { .. } => "no_execution",
            Self::NoView { .. } => "no_view",
            Self::File { .. } => "file",
            Self::NotAnExport { .. } => "not_an_export",
            Self::Corrupt { .. } => "corrupt",
            Self::CannotImport { .. } => "cannot_import",
            Self::NeedsDirectory { .. } => "needs_directory",
            Self::PurgeNeedsFilter => "purge_needs_filter",
            Self::PruneNeedsFilter => "prune_needs_filter",
            Self::Unsound { .. } => "unsound",
            Self::SomeFailed { .. } => "some_failed",
            Self::WhichInstances { .. } => "which_instances",
            Self::Output(_) => "output",
        }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoStore => {
                "name it with `--store orders.db`, or set DURABLE_STORE in the environment".into()
            }
            Self::StoreMissing { .. } => {
                "check the path; `start` and `import` make a new store with `--create`".into()
            }
            Self::NotAStore { .. } => "name the file that a node was opened with".into(),
            Self::NotBuiltIn { .. } => {
                "a store is a SQLite file, `--store orders.db`, or at `redis://…`".into()
            }
            Self::NotOpened { .. } => {
                "check the address and the prefix, and that the server runs".into()
            }
            Self::Store(error) | Self::Client(ClientError::Provider(error)) => store_hint(error)?,
            Self::Client(error) => client_hint(error)?,
            Self::Request(error) => request_hint(error)?,
            Self::NoExecution { latest, .. } => {
                format!("leave `--execution` out for the latest, {latest}")
            }
            Self::File { .. } => "check the path and its permissions".into(),
            Self::NotAnExport { .. } => "take a file that `durable export` wrote".into(),
            Self::Corrupt { .. } => {
                "export it again from a store that `durable check` finds sound".into()
            }
            Self::CannotImport { hint, .. } => (*hint).into(),
            Self::NoView { instance, .. } => {
                format!("`durable view {instance}` shows the views that it has")
            }
            Self::NeedsDirectory { .. } => "name one with `--out directory`".into(),
            Self::PurgeNeedsFilter => {
                "give a filter, for example `--older-than 30d`, or `--all`".into()
            }
            Self::PruneNeedsFilter => {
                "give a filter, for example `--name poller`, or `--all`".into()
            }
            Self::Unsound { .. } => {
                "suspend what is named above, and restore it from a backup".into()
            }
            Self::WhichInstances { .. } => {
                "name them, or select them: `--status suspended`, `--where 'customer = \"c-17\"'`"
                    .into()
            }
            Self::SomeFailed { .. } | Self::Output(_) => return None,
        })
    }
}

const fn store_kind(error: &ProviderError) -> &'static str {
    match error {
        ProviderError::Unavailable { .. } => "store_unavailable",
        ProviderError::Unknown { .. } => "store_unknown",
        ProviderError::Corrupt(_) | ProviderError::Damaged { .. } => "store_damaged",
        ProviderError::Refused(_) | ProviderError::Invalid { .. } => "refused",
        _ => "store_unusable",
    }
}

fn store_hint(error: &ProviderError) -> Option<String> {
    Some(match error {
        ProviderError::Unavailable { .. } => "try again in a moment".into(),
        ProviderError::Unknown { .. } => "look with `durable show` before you try again".into(),
        ProviderError::Corrupt(_) | ProviderError::Damaged { .. } => {
            "`durable check` shows what else is damaged; restore the instance from a backup".into()
        }
        _ => return None,
    })
}

fn client_hint(error: &ClientError) -> Option<String> {
    Some(match error {
        ClientError::NotFound { .. } => "`durable list` shows the instances of the store".into(),
        ClientError::Ended { instance } => {
            format!(
                "`durable show {instance}` shows how; start it anew with `--reuse restart-ended`"
            )
        }
        ClientError::Taken { .. } => {
            "choose another id, or give `--reuse use-running` or `--reuse restart-ended`".into()
        }
        _ => return None,
    })
}

const fn request_kind(error: &RequestError<Value>) -> &'static str {
    match error {
        RequestError::Rejected(_) => "rejected",
        RequestError::TimedOut { .. } => "timed_out",
        RequestError::NotAnswered {
            error: ClientError::Ended { .. },
            ..
        } => "ended",
        RequestError::NotAnswered {
            error: ClientError::Suspended { .. },
            ..
        } => "suspended",
        _ => "refused",
    }
}

fn request_hint(error: &RequestError<Value>) -> Option<String> {
    match error {
        RequestError::TimedOut {
            request_id,
            admitted: Admission::Yes,
            ..
        } => Some(format!(
            "the instance answers it when it can: ask again with `--id {request_id}`"
        )),
        RequestError::NotAnswered { error, .. } => client_hint(error),
        _ => None,
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStore => f.write_str("no store was named"),
            Self::StoreMissing { path } => {
                write!(
                    f,
                    "there is no store `{}`; nothing was created",
                    path.display()
                )
            }
            Self::NotAStore { path, reason } => {
                write!(f, "`{}` is not a store: {reason}", path.display())
            }
            Self::NotBuiltIn { scheme } => {
                write!(f, "stores at `{scheme}:` are not built in")
            }
            Self::NotOpened { location, error } => {
                write!(f, "`{location}` was not opened: {error}")
            }
            Self::Store(error) => error.fmt(f),
            Self::Client(error) => error.fmt(f),
            Self::Request(error) => error.fmt(f),
            Self::NoExecution {
                instance,
                execution_id,
                ..
            } => write!(f, "instance `{instance}` has no execution {execution_id}"),
            Self::NoView { instance, name } => {
                write!(f, "instance `{instance}` has no view `{name}`")
            }
            Self::File { path, what, error } => {
                write!(f, "`{}` cannot be {what}: {error}", path.display())
            }
            Self::NotAnExport { path, reason } => {
                write!(f, "`{}` is no export: {reason}", path.display())
            }
            Self::Corrupt { path, corruption } => {
                write!(f, "`{}` was not imported: {corruption}", path.display())
            }
            Self::CannotImport {
                instance, reason, ..
            } => write!(f, "instance `{instance}` was not imported: {reason}"),
            Self::NeedsDirectory { instances } => {
                write!(
                    f,
                    "{instances} instances cannot be written to standard output"
                )
            }
            Self::PurgeNeedsFilter => f.write_str("this would remove all ended instances"),
            Self::PruneNeedsFilter => {
                f.write_str("this would remove past executions of all instances")
            }
            Self::Unsound { findings } => write!(f, "the store is damaged in {findings} places"),
            Self::SomeFailed { failed, of } => write!(f, "{failed} of {of} were refused"),
            Self::WhichInstances { are_named: true } => {
                f.write_str("instances are both named and selected by options: nothing was done")
            }
            Self::WhichInstances { are_named: false } => f.write_str("no instance is named"),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl std::error::Error for CliError {}

impl From<ProviderError> for CliError {
    fn from(error: ProviderError) -> Self {
        Self::Store(error)
    }
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}
