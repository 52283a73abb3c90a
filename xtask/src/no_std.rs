//! `cargo xtask no-std`: builds and runs `no-std-proof`, a binary without `std`
//! that uses `durable-core`.
//!
//! That the build succeeds proves that no `std` is linked; that it runs proves that
//! the core works so. Nothing else of the workspace is looked at.

use crate::ci;
use crate::ci::stage::Step;
use crate::ci::stages::WARNINGS_FAIL;
use crate::error::Error;
use crate::process::Invocation;
use crate::workspace::Workspace;

/// The manifest of the proof: a workspace of its own, with its own lock file.
pub(crate) const MANIFEST: &str = "no-std-proof/Cargo.toml";

/// Runs the stage alone.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Error> {
    match arguments {
        [] => ci::run(&["--only", "no-std"]),
        [argument, ..] => Err(Error::UnexpectedArgument {
            command: "no-std",
            argument: (*argument).to_owned(),
        }),
    }
}

/// Build and run are separate steps: a failure says which of the two claims is false.
/// Clippy comes here, since the proof is outside the workspace.
pub(crate) fn steps(workspace: &Workspace) -> Vec<Step> {
    vec![
        Step::run("build", cargo(workspace, "build", &[])),
        Step::run("run", cargo(workspace, "run", &["--quiet"])),
        Step::run("clippy", cargo(workspace, "clippy", WARNINGS_FAIL)),
    ]
}

/// A cargo command on the proof, with its artefacts inside the workspace's target directory.
fn cargo(workspace: &Workspace, command: &str, rest: &[&str]) -> Invocation {
    let target = workspace.target("no-std-proof");
    let fixed = [
        command,
        "--locked",
        "--manifest-path",
        MANIFEST,
        "--target-dir",
        &target,
    ];
    Invocation::cargo(&[&fixed, rest].concat())
}
