//! A node on a SQLite file of its own: examples leave nothing behind.

use std::error::Error;
use std::time::Duration;

use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{Registry, Runtime};
use tempfile::TempDir;

/// What an example may end with.
pub type ExampleResult = Result<(), Box<dyn Error>>;

/// A node on a SQLite file that goes with it.
#[derive(Debug)]
pub struct ExampleNode {
    /// The node.
    pub node: Runtime,
    store: SqliteProvider,
    folder: TempDir,
}

impl ExampleNode {
    /// Starts a node that runs this code.
    pub async fn start(registry: Registry) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let store = SqliteProvider::open(folder.path().join("example.db"))?;
        let node = Runtime::builder(store.clone(), registry).start().await?;
        Ok(Self {
            node,
            store,
            folder,
        })
    }

    /// The store of the node.
    pub fn store(&self) -> &SqliteProvider {
        &self.store
    }

    /// Stops the node in good order and removes its file.
    pub async fn stop(self) -> ExampleResult {
        self.node.shutdown(Duration::from_secs(2)).await;
        drop(self.store);
        Ok(self.folder.close()?)
    }
}
