//! The workloads on Redis. The setting is the server's `appendfsync`: `always`, which is
//! what a store demands by default, or `everysec`.

use std::process::ExitCode;
use std::sync::Arc;

use bench_harness::{Problem, Setup};
use bench_ours::Store;
use durable_provider_redis::{Durability, RedisOptions, RedisProvider};
use durable_runtime::Provider;

struct Redis;

impl Store for Redis {
    async fn open(setup: &Setup) -> Result<Arc<dyn Provider>, Problem> {
        let durability = match setup.settings.as_str() {
            "always" => Durability::Strict,
            "everysec" => Durability::Relaxed,
            _ => return Err(bench_ours::unknown(setup)),
        };
        let options = RedisOptions::default().durability(durability);
        let provider = RedisProvider::open_with(&[&setup.server], options).await?;
        Ok(Arc::new(provider))
    }
}

fn main() -> ExitCode {
    bench_ours::main::<Redis>()
}
