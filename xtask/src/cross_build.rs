//! The stage `cross-build` of `ci`: what a debug build recorded, an optimised build replays,
//! and the other way round.
//!
//! It runs the `cross_build` example of durable-runtime. The optimised build is the debug
//! build with this one package optimised, since all that lays out an orchestration in
//! memory is in it: the other packages are those that the tests have built already.

use crate::ci::stage::Step;
use crate::process::Invocation;
use crate::workspace::Workspace;

/// The package that has the example.
const PACKAGE: &str = "durable-runtime";

/// What a release build has and a debug build has not.
const OPTIMISED: [&str; 4] = [
    "opt-level=2",
    "debug=false",
    "debug-assertions=false",
    "overflow-checks=false",
];

/// Records with each build, then replays with the other.
pub(crate) fn steps(workspace: &Workspace) -> Vec<Step> {
    let (by_debug, by_optimised) = (
        workspace.target("cross-build/debug"),
        workspace.target("cross-build/optimised"),
    );
    vec![
        Step::run("record, debug", debug("record", &by_debug)),
        Step::run("record, optimised", optimised("record", &by_optimised)),
        Step::run("replay, optimised", optimised("replay", &by_debug)),
        Step::run("replay, debug", debug("replay", &by_optimised)),
    ]
}

fn debug(command: &str, folder: &str) -> Invocation {
    run(&[], command, folder)
}

fn optimised(command: &str, folder: &str) -> Invocation {
    let settings = OPTIMISED.map(|setting| format!("profile.dev.package.{PACKAGE}.{setting}"));
    let settings = settings.iter().flat_map(|setting| ["--config", setting]);
    run(&settings.collect::<Vec<_>>(), command, folder)
}

fn run(settings: &[&str], command: &str, folder: &str) -> Invocation {
    let selection = ["--package", PACKAGE, "--example", "cross_build"];
    let rest = ["--", command, folder];
    Invocation::cargo(&[&["run", "--locked"], settings, &selection, &rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimised_build_differs_in_one_package() {
        assert_eq!(
            debug("record", "d").to_string(),
            "cargo run --locked --package durable-runtime --example cross_build -- record d"
        );
        assert!(optimised("replay", "d").to_string().starts_with(
            "cargo run --locked --config profile.dev.package.durable-runtime.opt-level=2 "
        ));
    }
}
