//! `cargo xtask bench [<name>]`: runs the crates' own benchmarks, one or all.
//!
//! It measures nothing itself and keeps no results.

use crate::error::Error;
use crate::process::Invocation;
use crate::workspace::Workspace;

/// A benchmark that can be named on the command line.
struct Bench {
    name: &'static str,
    package: &'static str,
    target: &'static str,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "core",
        package: "durable-core",
        target: "replay",
    },
    Bench {
        name: "runtime",
        package: "durable-runtime",
        target: "steps",
    },
    Bench {
        name: "sqlite",
        package: "durable-provider-sqlite",
        target: "sqlite",
    },
    Bench {
        name: "redis",
        package: "durable-provider-redis",
        target: "redis",
    },
];

/// Runs the named benchmark, or all of them.
pub(super) fn run(arguments: &[&str]) -> Result<(), Error> {
    let selected = select(arguments)?;
    let workspace = Workspace::find()?;
    for bench in selected {
        bench.invocation().stream(&workspace.root)?;
    }
    Ok(())
}

fn select(arguments: &[&str]) -> Result<&'static [Bench], Error> {
    match arguments {
        [] => Ok(BENCHES),
        [name] => BENCHES
            .iter()
            .position(|bench| bench.name == *name)
            .map(|at| &BENCHES[at..=at])
            .ok_or_else(|| Error::UnknownName {
                what: "benchmark",
                name: (*name).to_owned(),
                known: BENCHES
                    .iter()
                    .map(|bench| bench.name)
                    .chain(["peers", "instructions"])
                    .collect(),
            }),
        [_, extra, ..] => Err(Error::UnexpectedArgument {
            command: "bench",
            argument: (*extra).to_owned(),
        }),
    }
}

impl Bench {
    fn invocation(&self) -> Invocation {
        let (package, target) = (self.package, self.target);
        Invocation::cargo(&["bench", "--locked", "--package", package, "--bench", target])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_selects_one_and_no_name_all() {
        assert_eq!(select(&["core"]).unwrap().len(), 1);
        assert_eq!(select(&[]).unwrap().len(), BENCHES.len());
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = select(&["cor"]).err().unwrap();
        assert_eq!(
            error.to_string(),
            "there is no benchmark `cor`; known: core, runtime, sqlite, redis, peers, instructions"
        );
    }

    #[test]
    fn the_command_names_package_and_target() {
        assert_eq!(
            BENCHES[0].invocation().to_string(),
            "cargo bench --locked --package durable-core --bench replay"
        );
    }
}
