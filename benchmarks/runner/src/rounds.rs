//! The rounds: in each, every contender runs every workload once, one after the other,
//! so that a machine that changes its mood treats all alike.
//!
//! Who did not finish in time is not asked again.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;
use std::{fs, io};

use crate::error::Error;
use crate::options::Options;
use crate::plan::{LIVE_MEMORY, MEMORY, Workload};
use crate::prepare::{Prepared, Ready};
use crate::process::{Ended, Run};
use crate::server::Running;

/// One contender's run of one workload.
#[derive(Debug)]
pub(crate) struct Ran {
    /// From 1 on.
    pub(crate) round: usize,
    /// Of the contender.
    pub(crate) name: &'static str,
    /// Of the workload.
    pub(crate) workload: String,
    pub(crate) outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    /// What was measured, memory too.
    Measured(BTreeMap<String, f64>),
    DidNotFinish,
    Failed(String),
}

pub(crate) fn run(options: &Options, prepared: &Prepared) -> Result<Vec<Ran>, Error> {
    let mut runs: Vec<Ran> = Vec::new();
    for round in 1..=options.rounds {
        for workload in &prepared.workloads {
            for ready in &prepared.ready {
                let name = ready.contender.name;
                if !workload.is_for(&ready.contender) || gave_up(&runs, name, workload) {
                    continue;
                }
                let began = Instant::now();
                let outcome = once(options, ready, workload)?;
                println!(
                    "round {round}/{}  {:<26} {name:<20} {:>6.1} s  {}",
                    options.rounds,
                    workload.title,
                    began.elapsed().as_secs_f64(),
                    describe(&outcome, workload)
                );
                runs.push(Ran {
                    round,
                    name,
                    workload: workload.id(),
                    outcome,
                });
            }
        }
    }
    Ok(runs)
}

fn gave_up(runs: &[Ran], name: &str, workload: &Workload) -> bool {
    runs.iter().any(|ran| {
        ran.name == name && ran.workload == workload.id() && ran.outcome == Outcome::DidNotFinish
    })
}

/// One run in a folder of its own, with a server of its own, both thrown away after it.
fn once(options: &Options, ready: &Ready, workload: &Workload) -> Result<Outcome, Error> {
    let dir = options.out.join("data");
    let renew = || {
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::create_dir_all(&dir)
    };
    renew().map_err(|source| Error::file(&dir, source))?;
    let outcome = attempt(options, ready, workload, &dir).unwrap_or_else(|error| {
        // A server that does not start is a failed run, not the end of the others.
        Outcome::Failed(error.to_string())
    });
    throw_away(&dir, &options.out).map_err(|source| Error::file(&dir, source))?;
    Ok(outcome)
}

/// Removes what a run wrote, and waits until the disk has done so: the first sync of the
/// next run would.
fn throw_away(dir: &Path, parent: &Path) -> io::Result<()> {
    fs::remove_dir_all(dir)?;
    fs::File::open(parent)?.sync_all()
}

fn attempt(
    options: &Options,
    ready: &Ready,
    workload: &Workload,
    dir: &Path,
) -> Result<Outcome, Error> {
    let server = ready.server.as_ref().map(|server| server.start(dir));
    let server = server.transpose()?;
    let of_server = || server.as_ref().map_or(0.0, Running::peak_mb);
    let run = |words: &[String]| {
        let run = Run {
            binary: &ready.binary,
            dir,
            settings: ready.contender.settings,
            server: server.as_ref().map(|server| server.address.as_str()),
            words,
            limit: options.limit,
        };
        let mut server_mb = 0.0;
        let ended = run.perform(|| server_mb = of_server())?;
        Ok(match ended {
            Ended::Measured { measured, peak_mb } => {
                let mut values = measured.values;
                values.insert(MEMORY.to_owned(), peak_mb + server_mb);
                Outcome::Measured(values)
            }
            Ended::TimedOut => Outcome::DidNotFinish,
            Ended::Failed { why } => Outcome::Failed(why),
        })
    };
    let Some(before) = &workload.before else {
        return run(&workload.words);
    };
    let held = match run(before)? {
        Outcome::Measured(values) => values.get(MEMORY).copied(),
        other => return Ok(other),
    };
    let mut outcome = run(&workload.words)?;
    if let (Outcome::Measured(values), Some(held)) = (&mut outcome, held) {
        values.insert(LIVE_MEMORY.to_owned(), held);
    }
    Ok(outcome)
}

/// The first value of a run, for the line of progress.
fn describe(outcome: &Outcome, workload: &Workload) -> String {
    match outcome {
        Outcome::DidNotFinish => "did not finish".to_owned(),
        Outcome::Failed(why) => format!("failed: {why}"),
        Outcome::Measured(values) => {
            let metric = &workload.metrics[0];
            let value = values.get(metric.key).copied().unwrap_or(f64::NAN);
            format!("{} {}", crate::table::number(value), metric.title)
        }
    }
}
