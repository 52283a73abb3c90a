//! Which store a setting names.

use std::sync::Arc;

use bench_harness::{Problem, Setup};
use durable_provider_sqlite::{Durability, SqliteOptions, SqliteProvider};
use durable_runtime::Provider;

/// Opens the store of this setting.
pub(crate) async fn open(setup: &Setup) -> Result<Arc<dyn Provider>, Problem> {
    match setup.settings.as_str() {
        "sqlite-full" => sqlite(setup, Durability::Full),
        "sqlite-normal" => sqlite(setup, Durability::Relaxed),
        other => Err(format!("there is no setting `{other}`").into()),
    }
}

fn sqlite(setup: &Setup, durability: Durability) -> Result<Arc<dyn Provider>, Problem> {
    let options = SqliteOptions {
        durability,
        ..SqliteOptions::default()
    };
    let path = setup.dir.join("store.db");
    Ok(Arc::new(SqliteProvider::open_with(path, options)?))
}
