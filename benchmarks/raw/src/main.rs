//! The limits of the machine, measured with the same protocol as the contenders:
//! `fdatasync`, and what this project writes to its stores, written without an engine.

mod disk;
#[path = "../../../durable-provider-redis/benches/redis/raw.rs"]
mod redis_scripts;
#[path = "../../../durable-provider-sqlite/benches/sqlite/raw.rs"]
mod sqlite_rows;
mod store;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use bench_harness::{Measured, Problem, Setup};

use store::{Redis, Sqlite};

fn main() -> ExitCode {
    let began = Instant::now();
    bench_harness::main_with(|setup, words| match (setup.settings.as_str(), words) {
        ("fdatasync", ["fdatasync", count]) => disk::measure(&setup.dir, count.parse()?),
        (_, ["chain", instances, steps]) => chains(setup, instances.parse()?, steps.parse()?),
        ("sqlite", _) => bench_harness::run::<Sqlite>(setup, words, began),
        ("redis", _) => bench_harness::run::<Redis>(setup, words, began),
        (limit, _) => Err(format!("{limit} has no `{}`", words.join(" ")).into()),
    })
}

/// Chains in batches of 64, as the benchmarks of the providers write them.
fn chains(setup: &Setup, instances: u64, steps: u64) -> Result<Measured, Problem> {
    let took = match setup.settings.as_str() {
        "sqlite" => sqlite_rows::throughput(instances, steps),
        "redis" => redis_chains(setup, instances, steps)?,
        limit => return Err(format!("{limit} has no chains").into()),
    };
    Ok(Measured::new(
        format!("chain {instances} {steps}"),
        [(
            "orchestrations_per_s",
            instances as f64 / took.as_secs_f64(),
        )],
    ))
}

fn redis_chains(setup: &Setup, instances: u64, steps: u64) -> Result<Duration, Problem> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(async {
        let mut raw = redis_scripts::Raw::open(&setup.server).await;
        raw.throughput(instances, steps).await
    }))
}
