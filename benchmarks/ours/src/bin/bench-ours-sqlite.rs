//! The workloads on SQLite. The setting is the durability: `full`, which is the default,
//! or `normal`.

use std::process::ExitCode;
use std::sync::Arc;

use bench_harness::{Problem, Setup};
use bench_ours::Store;
use durable_provider_sqlite::{Durability, ReplyPath, SqliteOptions, SqliteProvider};
use durable_runtime::Provider;

struct Sqlite;

impl Store for Sqlite {
    async fn open(setup: &Setup) -> Result<Arc<dyn Provider>, Problem> {
        let durability = match setup.settings.as_str() {
            "full" => Durability::Full,
            "normal" => Durability::Relaxed,
            _ => return Err(bench_ours::unknown(setup)),
        };
        let options = SqliteOptions::default()
            .durability(durability)
            .reply_path(ReplyPath::IoDriver);
        let path = setup.dir.join("store.db");
        Ok(Arc::new(SqliteProvider::open_with(path, options)?))
    }
}

fn main() -> ExitCode {
    bench_ours::main::<Sqlite>()
}
