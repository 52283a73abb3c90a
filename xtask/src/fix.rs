//! `cargo xtask fix`: mends what a machine can mend, then reports what it cannot.
//!
//! It formats, applies clippy's suggestions and renews the lock files of
//! `no-std-proof` and the benchmarks. It commits nothing, and mends no finding of `tidy`.

use std::fs;

use crate::bench;
use crate::ci::stage::{self, Outcome, Stage};
use crate::ci::stages;
use crate::error::Error;
use crate::no_std;
use crate::process::Invocation;
use crate::report;
use crate::workspace::Workspace;

/// The stages that say what is left after mending.
const VERIFIED: [&str; 4] = ["fmt", "tidy", "clippy", "no-std"];

/// Mends, then verifies; an error names what is left.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Error> {
    if let Some(argument) = arguments.first() {
        return Err(Error::UnexpectedArgument {
            command: "fix",
            argument: (*argument).to_owned(),
        });
    }
    let workspace = Workspace::find()?;
    renew_locks(&workspace)?;
    for mender in menders() {
        report::line(format_args!("run   {mender}"));
        let transcript = mender.capture(&workspace.root)?;
        if !transcript.success {
            report::line(transcript.text.trim_end());
        }
    }
    verify(&workspace)
}

/// Clippy first: what it writes is not always formatted.
fn menders() -> Vec<Invocation> {
    let clippy = [
        "clippy",
        "--fix",
        "--allow-dirty",
        "--allow-staged",
        "--allow-no-vcs",
        "--workspace",
        "--all-targets",
        "--all-features",
    ];
    let mut menders = vec![
        Invocation::cargo(&["update", "--workspace", "--manifest-path", no_std::MANIFEST]),
        Invocation::cargo(&clippy),
        Invocation::cargo(&["fmt", "--all"]),
        Invocation::cargo(&["fmt", "--manifest-path", no_std::MANIFEST]),
    ];
    for package in bench::OWN.into_iter().chain(bench::PEERS) {
        let manifest = bench::manifest(package);
        let update = ["update", "--workspace", "--manifest-path", &manifest];
        menders.push(Invocation::cargo(&update));
        menders.push(Invocation::cargo(&["fmt", "--manifest-path", &manifest]));
    }
    menders
}

/// Starts the lock files outside the workspace from the workspace's, so that all use the
/// same versions; `cargo update --workspace` then drops what a package does not use.
/// Those of other engines have versions of their own.
fn renew_locks(workspace: &Workspace) -> Result<(), Error> {
    let own = bench::OWN.map(bench::manifest);
    for manifest in own.iter().map(String::as_str).chain([no_std::MANIFEST]) {
        let lock = workspace.root.join(manifest).with_extension("lock");
        fs::copy(workspace.root.join("Cargo.lock"), &lock)
            .map_err(|source| Error::File { path: lock, source })?;
    }
    Ok(())
}

fn verify(workspace: &Workspace) -> Result<(), Error> {
    let mut left = Vec::new();
    for stage in stages::ALL {
        if VERIFIED.contains(&stage.name) {
            left.extend(first_failure(workspace, stage)?);
        }
    }
    if left.is_empty() {
        report::line("nothing is left to mend");
        return Ok(());
    }
    Err(Error::Unmended { steps: left })
}

/// The first failed step of a stage: later ones would mostly repeat what it said.
fn first_failure(workspace: &Workspace, stage: &Stage) -> Result<Option<String>, Error> {
    for step in (stage.steps)(workspace) {
        if stage::perform(workspace, stage, &step)? == Outcome::Failed {
            return Ok(Some(stage.title(&step)));
        }
    }
    Ok(None)
}
