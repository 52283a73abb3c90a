//! The stage of `ci` that builds `durable-testkit` as each audience does: without features,
//! and with each feature alone. A build of the workspace turns them all on, and would hide
//! code that a feature needs and does not ask for, and links to what is not there.

use crate::ci::stage::Step;
use crate::ci::stages::WARNINGS_FAIL;
use crate::process::Invocation;
use crate::workspace::Workspace;

/// The features, each built alone. A test compares them with the manifest.
const FEATURES: [&str; 4] = ["conformance", "model", "sim", "strategy"];

/// The library alone: its tests turn every feature on.
const LIBRARY: [&str; 5] = [
    "clippy",
    "--locked",
    "--package",
    "durable-testkit",
    "--lib",
];

/// One step for each way in which the crate is used.
pub(crate) fn steps(_: &Workspace) -> Vec<Step> {
    let on = |selection: &[&str]| Invocation::cargo(&[&LIBRARY, selection, WARNINGS_FAIL].concat());
    let mut steps = vec![
        Step::run("testkit, no features", on(&["--no-default-features"])),
        Step::run("testkit, default features", on(&[])),
    ];
    let documented = [
        "doc",
        "--locked",
        "--package",
        "durable-testkit",
        "--no-deps",
    ];
    let documented = Invocation::cargo(&documented).with_variable("RUSTDOCFLAGS", "-D warnings");
    steps.push(Step::run("testkit, default documentation", documented));
    steps.extend(FEATURES.map(|feature| {
        let selection = ["--no-default-features", "--features", feature];
        Step::run(feature, on(&selection))
    }));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::manifest;

    #[test]
    fn every_feature_of_the_testkit_is_built_alone() {
        let text = include_str!("../../durable-testkit/Cargo.toml");
        let mut declared: Vec<&str> = manifest::features(text).map(|(name, _)| name).collect();
        declared.retain(|name| *name != "default");
        assert_eq!(declared, FEATURES);
    }
}
