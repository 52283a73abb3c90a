//! Runs the simulator over seeds, with its standard workload:
//! `sim <from> <count> [<scope>]`.
//!
//! Run it through `cargo xtask sim`. It stops at nothing: every seed that breaks an
//! invariant is shrunk and printed with its timeline, and the last lines sum up.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use durable_testkit::{SimReport, SimScope, SimTotals, Simulation, Workload, smallest_failure};

/// After how many seeds there is a line of progress.
const PROGRESS: u64 = 100;

/// How many runs are spent on making a broken seed smaller.
const SHRINKING: usize = 600;

type Error = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (from, count, scope) = match &arguments[..] {
        [from, count] => (from.parse()?, count.parse()?, SimScope::default()),
        [from, count, scope] => (from.parse()?, count.parse()?, scope.parse()?),
        _ => return Err("usage: sim <from> <count> [<scope>]".into()),
    };
    let totals = simulate(from, count, &scope)?;
    Ok(match totals.broken.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn simulate(from: u64, count: u64, scope: &SimScope) -> Result<SimTotals, Error> {
    let mut out = io::stdout().lock();
    let began = Instant::now();
    let mut totals = SimTotals::default();
    for seed in from..from.saturating_add(count) {
        let report = run(seed, scope.clone())?;
        totals.add(&report);
        if !report.is_ok() {
            writeln!(out, "{}\n", smallest(report))?;
        } else if count == 1 {
            writeln!(out, "{report}\n")?;
        }
        if totals.seeds.is_multiple_of(PROGRESS) || totals.seeds == count {
            writeln!(out, "{totals}; {}", totals.pace(began.elapsed()))?;
        }
    }
    for (fault, count) in &totals.faults {
        writeln!(out, "{count:>10} {fault}")?;
    }
    for (seed, invariant) in &totals.broken {
        writeln!(
            out,
            "seed {seed} broke `{invariant}`: cargo xtask sim --seed {seed}"
        )?;
    }
    Ok(totals)
}

fn run(seed: u64, scope: SimScope) -> Result<SimReport, Error> {
    Ok(Simulation::new(seed)
        .scope(scope)
        .run(Workload::standard()?))
}

/// The smallest run that breaks the same invariant; one that was shrunk before stays
/// as it is.
fn smallest(report: SimReport) -> SimReport {
    if report.scope != SimScope::default() {
        return report;
    }
    let again = |scope| run(report.seed, scope).unwrap_or_else(|_| report.clone());
    smallest_failure(SHRINKING, again).unwrap_or(report)
}
