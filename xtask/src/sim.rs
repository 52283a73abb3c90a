//! `cargo xtask sim`: runs the simulator over many seeds, or over one.
//!
//! It simulates nothing itself: it runs the `sim` example of durable-testkit and
//! tells it which seeds to take.

use crate::ci::stage::Step;
use crate::error::Error;
use crate::process::Invocation;
use crate::workspace::Workspace;

/// How many seeds are run when nobody says so.
const DEFAULT_SEEDS: u64 = 1_000;

/// The command, but for the build profile and the seeds.
const RUN: &[&str] = &[
    "run",
    "--locked",
    "--package",
    "durable-testkit",
    "--example",
    "sim",
];

/// Which seeds to run.
#[derive(Debug, PartialEq, Eq)]
enum Seeds {
    Many { from: u64, count: u64 },
    One(u64),
}

/// Runs the simulator.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Error> {
    let seeds = parse(arguments)?;
    seeds.invocation().stream(&Workspace::find()?.root)
}

fn parse(arguments: &[&str]) -> Result<Seeds, Error> {
    let (mut from, mut count) = (0, DEFAULT_SEEDS);
    let mut rest = arguments;
    while let [option, after @ ..] = rest {
        let option = match *option {
            "--seed" => "--seed",
            "--seeds" => "--seeds",
            "--from" => "--from",
            other => {
                return Err(Error::UnexpectedArgument {
                    command: "sim",
                    argument: other.to_owned(),
                });
            }
        };
        let [value, after @ ..] = after else {
            return Err(Error::MissingValue { option });
        };
        let Ok(value) = value.parse() else {
            return Err(Error::UnexpectedArgument {
                command: "sim",
                argument: format!("{option} {value}"),
            });
        };
        match option {
            "--seed" => return Ok(Seeds::One(value)),
            "--seeds" => count = value,
            _ => from = value,
        }
        rest = after;
    }
    Ok(Seeds::Many { from, count })
}

impl Seeds {
    fn invocation(&self) -> Invocation {
        let (from, count) = match self {
            Self::One(seed) => (*seed, 1),
            Self::Many { from, count } => (*from, *count),
        };
        let (from, count) = (from.to_string(), count.to_string());
        Invocation::cargo(&[RUN, &["--release", "--", &from, &count]].concat())
    }
}

/// The seeds that `ci` runs beside those of the tests, with the build of the tests.
pub(crate) fn steps(_: &Workspace) -> Vec<Step> {
    let invocation = Invocation::cargo(&[RUN, &["--", "1000", "100"]].concat());
    vec![Step::run("", invocation)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_chosen_on_the_command_line() {
        let many = |from, count| Seeds::Many { from, count };
        assert_eq!(parse(&[]).unwrap(), many(0, DEFAULT_SEEDS));
        assert_eq!(parse(&["--seeds", "9"]).unwrap(), many(0, 9));
        assert_eq!(parse(&["--seeds", "9", "--from", "4"]).unwrap(), many(4, 9));
        assert_eq!(parse(&["--seed", "4"]).unwrap(), Seeds::One(4));
    }

    #[test]
    fn what_is_no_seed_is_refused() {
        assert!(matches!(
            parse(&["--seed"]),
            Err(Error::MissingValue { option: "--seed" })
        ));
        assert!(parse(&["--seed", "four"]).is_err());
        assert!(parse(&["four"]).is_err());
    }

    #[test]
    fn the_command_names_the_seeds() {
        assert_eq!(
            Seeds::One(7).invocation().to_string(),
            "cargo run --locked --package durable-testkit --example sim --release -- 7 1"
        );
    }
}
