//! Whether the file at the path is still the one that is open. SQLite goes on writing
//! to a file that was removed, and what is written there is gone with the process.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use durable_core::provider::ProviderError;

/// A file by what stays the same while it is there.
#[derive(Debug)]
pub(super) struct FileIdentity {
    path: PathBuf,
    identity: Option<(u64, u64)>,
}

impl FileIdentity {
    pub(super) fn of(path: &Path) -> Self {
        let metadata = std::fs::metadata(path).ok();
        Self {
            path: path.to_owned(),
            identity: metadata.as_ref().and_then(identity),
        }
    }

    /// Refuses to go on with a file that was removed or replaced.
    pub(super) fn check(&self) -> Result<(), ProviderError> {
        let found = std::fs::metadata(&self.path);
        let is_same = match &found {
            Ok(metadata) => identity(metadata) == self.identity,
            Err(_) => false,
        };
        if is_same {
            return Ok(());
        }
        Err(ProviderError::Unusable {
            reason: format!(
                "`{}` was removed or replaced while it was open: put it back and restart this \
                 process",
                self.path.display()
            ),
        })
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}
