//! `cargo xtask sim`: runs the simulator over many seeds, or over one.
//!
//! It simulates nothing itself: it runs the `sim` example of durable-testkit and
//! tells it which seeds to take.

use crate::ci::stage::Step;
use crate::error::Error;
use crate::process::Invocation;
use crate::workspace::Workspace;

/// How many seeds are run when the command line does not say so.
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

/// Which seeds to run, and how much of each.
#[derive(Debug, PartialEq, Eq)]
struct Seeds {
    from: u64,
    count: u64,
    /// What shrinking left of the seed; all of it if the command line does not say so.
    scope: Option<String>,
}

/// Runs the simulator.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Error> {
    let seeds = parse(arguments)?;
    seeds.invocation().stream(&Workspace::find()?.root)
}

fn parse(arguments: &[&str]) -> Result<Seeds, Error> {
    let mut seeds = Seeds {
        from: 0,
        count: DEFAULT_SEEDS,
        scope: None,
    };
    let mut rest = arguments;
    while let [option, after @ ..] = rest {
        let option = known(option)?;
        let [value, after @ ..] = after else {
            return Err(Error::MissingValue { option });
        };
        match option {
            "--seed" => (seeds.from, seeds.count) = (number(option, value)?, 1),
            "--seeds" => seeds.count = number(option, value)?,
            "--from" => seeds.from = number(option, value)?,
            _ => seeds.scope = Some((*value).to_owned()),
        }
        rest = after;
    }
    Ok(seeds)
}

fn known(argument: &str) -> Result<&'static str, Error> {
    let mut options = ["--seed", "--seeds", "--from", "--scope"].into_iter();
    let option = options.find(|option| *option == argument);
    option.ok_or_else(|| unexpected(argument))
}

fn number(option: &str, value: &str) -> Result<u64, Error> {
    let number = value.parse();
    number.map_err(|_| unexpected(&format!("{option} {value}")))
}

fn unexpected(argument: &str) -> Error {
    Error::UnexpectedArgument {
        command: "sim",
        argument: argument.to_owned(),
    }
}

impl Seeds {
    fn invocation(&self) -> Invocation {
        let (from, count) = (self.from.to_string(), self.count.to_string());
        let mut arguments = vec!["--release", "--", &from, &count];
        arguments.extend(self.scope.as_deref());
        Invocation::cargo(&[RUN, &arguments].concat())
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

    fn many(from: u64, count: u64) -> Seeds {
        Seeds {
            from,
            count,
            scope: None,
        }
    }

    #[test]
    fn seeds_are_chosen_on_the_command_line() {
        assert_eq!(parse(&[]).unwrap(), many(0, DEFAULT_SEEDS));
        assert_eq!(parse(&["--seeds", "9"]).unwrap(), many(0, 9));
        assert_eq!(parse(&["--seeds", "9", "--from", "4"]).unwrap(), many(4, 9));
        assert_eq!(parse(&["--seed", "4"]).unwrap(), many(4, 1));
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
    fn the_command_names_the_seeds_and_how_much_of_them() {
        assert_eq!(
            many(7, 1).invocation().to_string(),
            "cargo run --locked --package durable-testkit --example sim --release -- 7 1"
        );
        let shrunk = parse(&["--seed", "7", "--scope", "nodes=2"]).unwrap();
        assert_eq!(
            shrunk.invocation().to_string(),
            "cargo run --locked --package durable-testkit --example sim --release -- 7 1 nodes=2"
        );
    }
}
