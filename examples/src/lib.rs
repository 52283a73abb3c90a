//! Small programs that show what orchestrations can do, each in `src/bin`. What they
//! share is here.

use std::error::Error;

use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{Registry, Runtime};
use tempfile::TempDir;

/// What an example may end with.
pub type ExampleResult = Result<(), Box<dyn Error>>;

/// A node on a SQLite file that goes with it: examples leave nothing behind.
#[derive(Debug)]
pub struct ExampleNode {
    /// The node.
    pub node: Runtime,
    folder: TempDir,
}

impl ExampleNode {
    /// Starts a node that runs this code.
    pub async fn start(registry: Registry) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let store = SqliteProvider::open(folder.path().join("example.db"))?;
        let node = Runtime::builder(store, registry).start().await?;
        Ok(Self { node, folder })
    }

    /// Stops the node in good order and removes its file.
    pub async fn stop(self) -> ExampleResult {
        self.node.shutdown(std::time::Duration::from_secs(2)).await;
        Ok(self.folder.close()?)
    }
}
