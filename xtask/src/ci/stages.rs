//! The stages of `ci`, in the order in which they run: quick ones first.
//!
//! This file is a table: it runs nothing, but for asking which tools are installed.

use super::stage::{Stage, Step};
use crate::bench;
use crate::cross_build;
use crate::features;
use crate::no_std;
use crate::process::Invocation;
use crate::setup;
use crate::sim;
use crate::workspace::Workspace;

/// Every stage.
pub(crate) const ALL: &[Stage] = &[
    Stage {
        name: "fmt",
        about: "the sources are formatted",
        mend: "cargo xtask fix",
        steps: fmt,
    },
    Stage {
        name: "tidy",
        about: "the sources keep the project's own rules (cargo xtask tidy)",
        mend: "by hand: each finding says how",
        steps: |_| vec![Step::tidy()],
    },
    Stage {
        name: "clippy",
        about: "no warning from the compiler or clippy, whatever the features",
        mend: "cargo xtask fix mends a part; the rest by hand",
        steps: clippy,
    },
    Stage {
        name: "features",
        about: "durable-testkit builds without features and with each of them alone",
        mend: "by hand; mostly a `#[cfg(feature = …)]` that is missing or too much",
        steps: features::steps,
    },
    Stage {
        name: "setup",
        about: "what the tests need is there, or installed where possible (cargo xtask setup)",
        mend: "install redis-server; the line above says how",
        steps: setup::steps,
    },
    Stage {
        name: "test",
        about: "unit and integration tests",
        mend: "by hand; the failing tests are named above",
        steps: test,
    },
    Stage {
        name: "sim",
        about: "the simulator finds nothing (cargo xtask sim)",
        mend: "by hand; the seed and its timeline are above",
        steps: sim::steps,
    },
    Stage {
        name: "cross-build",
        about: "histories of a debug build replay in an optimised one, and the other way round",
        mend: "by hand; the shape that does not replay is named above",
        steps: cross_build::steps,
    },
    Stage {
        name: "doctest",
        about: "the examples in the documentation",
        mend: "by hand; the failing examples are named above",
        steps: doctest,
    },
    Stage {
        name: "doc",
        about: "the documentation builds without warnings, for users and for contributors",
        mend: "by hand; mostly a link that leads nowhere",
        steps: doc,
    },
    Stage {
        name: "no-std",
        about: "durable-core links and runs without std (cargo xtask no-std)",
        mend: "a duplicate `panic_impl`: the note names the crate that uses std; \
               a lock file that needs an update: cargo xtask fix",
        steps: no_std::steps,
    },
    Stage {
        name: "benchmarks",
        about: "the benchmarks outside the workspace build without warnings, and measure right",
        mend: "by hand; a lock file that needs an update: cargo xtask fix",
        steps: benchmarks,
    },
    Stage {
        name: "instructions",
        about: "the replay hot path takes no more instructions (cargo xtask bench instructions)",
        mend: "by hand; if it is worth it: cargo xtask bench instructions --accept",
        steps: bench::instructions::steps,
    },
    Stage {
        name: "deny",
        about: "dependencies: licences, sources, banned crates (deny.toml)",
        mend: "replace the dependency, or allow it in deny.toml with the reason",
        steps: deny,
    },
];

/// The last arguments of a clippy command.
pub(crate) const WARNINGS_FAIL: &[&str] = &["--", "-D", "warnings"];

fn fmt(_: &Workspace) -> Vec<Step> {
    let on =
        |selection: &[&str]| Invocation::cargo(&[&["fmt"], selection, &["--", "--check"]].concat());
    let mut steps = vec![
        Step::run("workspace", on(&["--all"])),
        Step::run("no-std proof", on(&["--manifest-path", no_std::MANIFEST])),
    ];
    let packages = bench::OWN.into_iter().chain(bench::PEERS);
    steps.extend(packages.map(|package| {
        let manifest = bench::manifest(package);
        Step::run(package, on(&["--manifest-path", &manifest]))
    }));
    steps
}

fn clippy(_: &Workspace) -> Vec<Step> {
    let on = |selection: &[&str]| {
        let fixed = ["clippy", "--locked", "--all-targets"];
        Invocation::cargo(&[&fixed, selection, WARNINGS_FAIL].concat())
    };
    let core_alone = ["--package", "durable-core", "--no-default-features"];
    vec![
        Step::run("default features", on(&["--workspace"])),
        Step::run("core, no default features", on(&core_alone)),
        Step::run("all features", on(&["--workspace", "--all-features"])),
    ]
}

fn test(workspace: &Workspace) -> Vec<Step> {
    let runner: &[&str] = if is_installed(workspace, "nextest") {
        &["nextest", "run", "--locked", "--profile", "ci"]
    } else {
        &["test", "--locked", "--all-targets", "--no-fail-fast"]
    };
    let on = |selection: &[&str]| Invocation::cargo(&[runner, selection].concat());
    let core_alone = ["--package", "durable-core", "--no-default-features"];
    vec![
        Step::run("all features", on(&["--workspace", "--all-features"])),
        Step::run("core, no default features", on(&core_alone)),
    ]
}

fn doctest(_: &Workspace) -> Vec<Step> {
    let arguments = ["test", "--locked", "--workspace", "--all-features", "--doc"];
    vec![Step::run("", Invocation::cargo(&arguments))]
}

fn doc(_: &Workspace) -> Vec<Step> {
    let on = |rest: &[&str]| {
        let fixed = [
            "doc",
            "--locked",
            "--workspace",
            "--no-deps",
            "--all-features",
        ];
        Invocation::cargo(&[&fixed, rest].concat()).with_variable("RUSTDOCFLAGS", "-D warnings")
    };
    vec![
        Step::run("public items", on(&[])),
        Step::run("private items", on(&["--document-private-items"])),
    ]
}

/// What is not built with other engines; those are built by `cargo xtask bench peers`.
/// It uses the target directory of the workspace, where most of it is built already.
fn benchmarks(workspace: &Workspace) -> Vec<Step> {
    let target = workspace.target("");
    let on = |command: &[&str], package: &str, rest: &[&str]| {
        let manifest = bench::manifest(package);
        let place = ["--manifest-path", &manifest, "--target-dir", &target];
        Invocation::cargo(&[command, &["--locked"], &place, rest].concat())
    };
    let clippy = |package| {
        let invocation = on(&["clippy", "--all-targets"], package, WARNINGS_FAIL);
        Step::run(package, invocation)
    };
    let mut steps: Vec<Step> = bench::OWN.into_iter().map(clippy).collect();
    steps.push(Step::run(
        "tests of the harness",
        on(&["test"], "harness", &[]),
    ));
    steps.push(Step::run(
        "tests of the runner",
        on(&["test"], "runner", &[]),
    ));
    steps
}

/// Without the advisories: their database is not reachable everywhere.
fn deny(workspace: &Workspace) -> Vec<Step> {
    if !is_installed(workspace, "deny") {
        return vec![Step::skip(
            "cargo-deny is not installed; to get it: cargo install --locked cargo-deny",
        )];
    }
    let arguments = ["deny", "--locked", "check", "bans", "licenses", "sources"];
    vec![Step::run("", Invocation::cargo(&arguments))]
}

fn is_installed(workspace: &Workspace, command: &str) -> bool {
    Invocation::cargo(&[command, "--version"])
        .answer(&workspace.root)
        .is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = ALL.iter().map(|stage| stage.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
