//! The limits of the machine, measured with the same protocol as the contenders:
//! `fdatasync`, SQLite with our rows and no engine, Redis with a script and no engine.

mod disk;
mod redis;
#[path = "../../../durable-provider-sqlite/benches/sqlite/raw.rs"]
mod sqlite;

use std::process::ExitCode;
use std::time::Duration;

use bench_harness::{Measured, Problem, Setup};

/// How long the chains are that are written in batches, and the commits of one: started,
/// handed out, the first turn, and one for every step.
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

/// Our rows as the benchmarks of the provider write them: the steps of one orchestration
/// one by one, a whole orchestration of one activity, and chains in batches of 64.
fn sqlite_rows(count: u64) -> Result<Measured, Problem> {
    let mut one_by_one = sqlite::OneByOne::open();
    let took = one_by_one.steps(count.try_into()?);
    let steps = count as f64 / took.as_secs_f64();
    let mut times: Vec<Duration> = (0..count / 4).map(|_| one_by_one.orchestration()).collect();
    times.sort_unstable();
    let whole = times.get(times.len() / 2).ok_or("too few")?;
    let took = sqlite::throughput(count, STEPS);
    let batched = count as f64 * COMMITS_OF_CHAIN / took.as_secs_f64();
    Ok(Measured::new(
        format!("sqlite {count}"),
        [
            ("steps_per_s", steps),
            ("orchestration_ms", whole.as_secs_f64() * 1e3),
            ("batched_per_s", batched),
        ],
    ))
}
