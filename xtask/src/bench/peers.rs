//! `cargo xtask bench peers`: the same workloads on this project and on other engines.
//!
//! It measures nothing itself: it builds and starts `benchmarks/runner`, which is
//! outside the workspace, as are the contenders. What follows is the runner's.

use crate::error::Error;
use crate::process::Invocation;
use crate::workspace::Workspace;

const MANIFEST: &str = "benchmarks/runner/Cargo.toml";

/// Starts the runner with these arguments.
pub(super) fn run(arguments: &[&str]) -> Result<(), Error> {
    let workspace = Workspace::find()?;
    invocation(&workspace.target("benchmarks"), arguments).stream(&workspace.root)
}

fn invocation(target: &str, arguments: &[&str]) -> Invocation {
    let fixed = [
        "run",
        "--quiet",
        "--release",
        "--locked",
        "--manifest-path",
        MANIFEST,
        "--target-dir",
        target,
        "--",
    ];
    Invocation::cargo(&[&fixed, arguments].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_the_runners() {
        assert_eq!(
            invocation("target/benchmarks", &["--quick"]).to_string(),
            "cargo run --quiet --release --locked --manifest-path benchmarks/runner/Cargo.toml \
             --target-dir target/benchmarks -- --quick"
        );
    }
}
