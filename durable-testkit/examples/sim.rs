//! Runs the simulator over seeds, with its standard workload: `sim <from> <count>`.
//!
//! Run it through `cargo xtask sim`. It stops at nothing: every seed that breaks an
//! invariant is printed with its timeline, and the last lines sum up.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use durable_testkit::{SimTotals, Simulation, Workload};

/// After how many seeds there is a line of progress.
const PROGRESS: u64 = 100;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let numbers: Vec<u64> = std::env::args()
        .skip(1)
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    let [from, count] = numbers[..] else {
        return Err("usage: sim <from> <count>".into());
    };
    let mut out = io::stdout().lock();
    let began = Instant::now();
    let mut totals = SimTotals::default();
    for seed in from..from.saturating_add(count) {
        let report = Simulation::new(seed).run(Workload::standard()?);
        totals.add(&report);
        if !report.is_ok() || count == 1 {
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
    Ok(if totals.broken.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
