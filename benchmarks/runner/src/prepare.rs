//! What comes before the rounds: the contenders are built, their servers found or
//! installed. A peer that cannot be had is left out with one line.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use crate::contender::{Contender, Role};
use crate::error::Error;
use crate::options::Options;
use crate::plan::Workload;
use crate::selection::Selection;
use crate::server::{Installed, Kind};

/// Everything that is needed for the rounds.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) ready: Vec<Ready>,
    pub(crate) workloads: Vec<Workload>,
    /// Who is left out, and why.
    pub(crate) skipped: Vec<(Contender, String)>,
}

/// A contender that can be run.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) contender: Contender,
    pub(crate) binary: PathBuf,
    pub(crate) server: Option<Installed>,
}

pub(crate) fn prepare(options: &Options, selection: Selection) -> Result<Prepared, Error> {
    let mut builds: BTreeMap<&str, Result<(), String>> = BTreeMap::new();
    let mut servers: BTreeMap<Kind, Result<Installed, String>> = BTreeMap::new();
    let mut prepared = Prepared {
        ready: Vec::new(),
        workloads: selection.workloads,
        skipped: Vec::new(),
    };
    for contender in selection.contenders {
        let has_work = |workload: &Workload| workload.is_for(&contender);
        if !prepared.workloads.iter().any(has_work) {
            continue;
        }
        let built = builds
            .entry(contender.package)
            .or_insert_with(|| build(options, contender.package).map_err(|e| e.to_string()));
        let server = contender.server.map(|kind| {
            let install = || {
                kind.install(&options.out)
                    .map_err(|error| error.to_string())
            };
            servers.entry(kind).or_insert_with(install).clone()
        });
        match (built.clone(), server.transpose()) {
            (Ok(()), Ok(server)) => prepared.ready.push(Ready {
                contender,
                binary: options.target.join("release").join(contender.binary),
                server,
            }),
            (Err(why), _) if contender.role == Role::Ours => {
                return Err(Error::program("cargo build", why));
            }
            (Err(why), _) | (_, Err(why)) => {
                println!("skipped {}: {why}", contender.name);
                prepared.skipped.push((contender, why));
            }
        }
    }
    Ok(prepared)
}

fn build(options: &Options, package: &str) -> Result<(), Error> {
    println!("building {package}");
    let manifest = format!("benchmarks/{package}/Cargo.toml");
    let arguments = [
        "build",
        "--quiet",
        "--release",
        "--locked",
        "--manifest-path",
    ];
    let status = Command::new("cargo")
        .args(arguments)
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&options.target)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(Error::program(
            format!("cargo build of {manifest}"),
            "failed",
        )),
        Err(source) => Err(Error::program("cargo", source)),
    }
}
