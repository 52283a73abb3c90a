//! `cargo xtask ci`: every check of the project, in order, up to the first failure.
//!
//! It changes nothing in the repository: cargo runs with `--locked`, and git's
//! view of the repository must be the same afterwards.

pub(crate) mod stage;
pub(crate) mod stages;
mod unchanged;

use std::time::Instant;

use crate::error::Error;
use crate::report;
use crate::workspace::Workspace;
use stage::{Outcome, Stage};
use unchanged::Snapshot;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
enum Request {
    All,
    Only(&'static Stage),
    List,
}

/// Runs the stages that the arguments select.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Error> {
    match parse(arguments)? {
        Request::All => check(stages::ALL),
        Request::Only(stage) => check(std::slice::from_ref(stage)),
        Request::List => {
            for stage in stages::ALL {
                report::line(format_args!("{:<10} {}", stage.name, stage.about));
            }
            Ok(())
        }
    }
}

fn parse(arguments: &[&str]) -> Result<Request, Error> {
    match arguments {
        [] => Ok(Request::All),
        ["--list"] => Ok(Request::List),
        ["--only"] => Err(Error::MissingValue { option: "--only" }),
        ["--only", name] => stages::ALL
            .iter()
            .find(|stage| stage.name == *name)
            .map(Request::Only)
            .ok_or_else(|| Error::UnknownName {
                what: "stage",
                name: (*name).to_owned(),
                known: stages::ALL.iter().map(|stage| stage.name).collect(),
            }),
        ["--list", extra, ..] | ["--only", _, extra, ..] | [extra, ..] => {
            Err(Error::UnexpectedArgument {
                command: "ci",
                argument: (*extra).to_owned(),
            })
        }
    }
}

fn check(stages: &[Stage]) -> Result<(), Error> {
    let workspace = Workspace::find()?;
    let before = Snapshot::take(&workspace);
    let started = Instant::now();
    let (mut passed, mut skipped) = (0, 0);
    for stage in stages {
        for step in (stage.steps)(&workspace) {
            match stage::perform(&workspace, stage, &step)? {
                Outcome::Passed => passed += 1,
                Outcome::Skipped => skipped += 1,
                Outcome::Failed => return Err(stage.failure(&step)),
            }
        }
    }
    before.compare(&Snapshot::take(&workspace))?;
    let seconds = started.elapsed().as_secs_f64();
    report::line(format_args!(
        "ci: {passed} passed, {skipped} skipped in {seconds:.1} s; {}",
        before.verdict()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_arguments_every_stage_runs() {
        assert_eq!(parse(&[]).unwrap(), Request::All);
    }

    #[test]
    fn only_selects_a_stage_by_name() {
        let Request::Only(stage) = parse(&["--only", "clippy"]).unwrap() else {
            panic!("one stage is asked for");
        };
        assert_eq!(stage.name, "clippy");
    }

    #[test]
    fn an_unknown_stage_lists_the_known_ones() {
        let message = parse(&["--only", "clipy"]).unwrap_err().to_string();
        assert!(message.contains("`clipy`") && message.contains("fmt, tidy, clippy"));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for arguments in [
            &["--only"][..],
            &["fmt"],
            &["--list", "x"],
            &["--only", "fmt", "x"],
        ] {
            assert!(parse(arguments).is_err(), "{arguments:?}");
        }
    }
}
