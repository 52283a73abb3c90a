//! The limits of the machine, measured with the same protocol as the contenders:
//! `fdatasync`, SQLite with our rows and no engine, Redis with a script and no engine.

mod disk;
mod redis;
#[path = "../../../durable-provider-sqlite/benches/sqlite/raw.rs"]
mod sqlite;

use std::process::ExitCode;
use std::time::Duration;

use bench_harness::{Measured, Problem, Setup};

/// How many commits an orchestration of one activity takes, one by one: started, handed
/// out, its first turn, its last.
const COMMITS_OF_ONE: f64 = 4.0;
/// How long the chains are that are written in batches, and the commits of one.
const STEPS: u64 = 5;
const COMMITS_OF_CHAIN: f64 = STEPS as f64 + 3.0;

fn main() -> ExitCode {
    bench_harness::main_with(|setup: &Setup, words: &[&str]| match words {
        ["fdatasync", count] => disk::measure(&setup.dir, count.parse()?),
        ["sqlite", count] => sqlite_rows(count.parse()?),
        ["redis", count] => redis::measure(&setup.server, count.parse()?),
        _ => Err(format!("there is no limit `{}`", words.join(" ")).into()),
    })
}

/// Our rows as the benchmarks of the provider write them.
fn sqlite_rows(count: u64) -> Result<Measured, Problem> {
    let mut one_by_one = sqlite::OneByOne::open();
    let took: Duration = (0..count).map(|_| one_by_one.orchestration()).sum();
    let alone = count as f64 * COMMITS_OF_ONE / took.as_secs_f64();
    let took = sqlite::throughput(count, STEPS);
    let batched = count as f64 * COMMITS_OF_CHAIN / took.as_secs_f64();
    Ok(Measured::new(
        format!("sqlite {count}"),
        [("one_by_one_per_s", alone), ("batched_per_s", batched)],
    ))
}
