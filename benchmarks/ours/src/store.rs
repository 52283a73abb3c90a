//! Which store a setting names.

use std::sync::Arc;

use bench_harness::{Problem, Setup};
use durable_provider_redis::{self as redis, RedisOptions, RedisProvider};
use durable_provider_sqlite::{self as sqlite, SqliteOptions, SqliteProvider};
use durable_runtime::Provider;

/// Opens the store of this setting.
pub(crate) async fn open(setup: &Setup) -> Result<Arc<dyn Provider>, Problem> {
    match setup.settings.as_str() {
        "sqlite-full" => on_sqlite(setup, sqlite::Durability::Full),
        "sqlite-normal" => on_sqlite(setup, sqlite::Durability::Relaxed),
        "redis-always" => on_redis(setup, redis::Durability::Strict).await,
        "redis-everysec" => on_redis(setup, redis::Durability::Relaxed).await,
        other => Err(format!("there is no setting `{other}`").into()),
    }
}

fn on_sqlite(setup: &Setup, durability: sqlite::Durability) -> Result<Arc<dyn Provider>, Problem> {
    let options = SqliteOptions {
        durability,
        ..SqliteOptions::default()
    };
    let path = setup.dir.join("store.db");
    Ok(Arc::new(SqliteProvider::open_with(path, options)?))
}

async fn on_redis(
    setup: &Setup,
    durability: redis::Durability,
) -> Result<Arc<dyn Provider>, Problem> {
    let options = RedisOptions {
        durability,
        ..RedisOptions::default()
    };
    let provider = RedisProvider::open_with(&[&setup.server], options).await?;
    Ok(Arc::new(provider))
}
