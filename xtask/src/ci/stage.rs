//! A stage of `ci`, its steps, and how a step is performed and reported.
//!
//! Which stages there are is not said here (see `stages`), nor what follows from
//! a failed step: the caller decides.

use std::time::Instant;

use crate::error::Error;
use crate::process::Invocation;
use crate::report::{self, Mark};
use crate::tidy;
use crate::workspace::Workspace;

/// A named part of `ci`.
#[derive(Debug)]
pub(crate) struct Stage {
    /// What `--only` takes.
    pub(crate) name: &'static str,
    /// What it checks, for `--list`.
    pub(crate) about: &'static str,
    /// What to do when it fails.
    pub(crate) mend: &'static str,
    /// Its steps; asked for when the stage begins, since they depend on installed tools.
    pub(crate) steps: fn(&Workspace) -> Vec<Step>,
}

/// One line of the report.
#[derive(Debug)]
pub(crate) struct Step {
    label: &'static str,
    action: Action,
}

#[derive(Debug)]
enum Action {
    /// Succeeds when the command does.
    Run(Invocation),
    /// Succeeds when `tidy` finds nothing.
    Tidy,
    /// Does nothing, and says why.
    Skip(&'static str),
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Skipped,
    Failed,
}

impl Step {
    /// A step that runs a command. The label tells the steps of a stage apart; it may be empty.
    pub(crate) fn run(label: &'static str, invocation: Invocation) -> Self {
        let action = Action::Run(invocation);
        Self { label, action }
    }

    pub(crate) fn tidy() -> Self {
        let (label, action) = ("", Action::Tidy);
        Self { label, action }
    }

    /// A step that cannot be performed here; the reason says how to change that.
    pub(crate) fn skip(reason: &'static str) -> Self {
        let (label, action) = ("", Action::Skip(reason));
        Self { label, action }
    }
}

impl Stage {
    /// The name of a step in the report, such as `clippy (all features)`.
    pub(crate) fn title(&self, step: &Step) -> String {
        if step.label.is_empty() {
            return self.name.to_owned();
        }
        format!("{} ({})", self.name, step.label)
    }

    /// The error for a step that failed.
    pub(crate) fn failure(&self, step: &Step) -> Error {
        Error::Step {
            step: self.title(step),
            rerun: match &step.action {
                Action::Run(invocation) => invocation.to_string(),
                Action::Tidy | Action::Skip(_) => format!("cargo xtask ci --only {}", self.name),
            },
            mend: self.mend,
        }
    }
}

impl PartialEq for Stage {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Performs a step and prints its closing line: then, if it failed, all that it
/// said; if it passed, the closing summary of a test run.
pub(crate) fn perform(workspace: &Workspace, stage: &Stage, step: &Step) -> Result<Outcome, Error> {
    let title = stage.title(step);
    report::begin(&title);
    let started = Instant::now();
    let (outcome, said) = match &step.action {
        Action::Skip(reason) => (Outcome::Skipped, (*reason).to_owned()),
        Action::Run(invocation) => {
            let transcript = invocation.capture(&workspace.root)?;
            (Outcome::of(transcript.success), transcript.text)
        }
        Action::Tidy => {
            let findings = tidy::findings(workspace)?;
            let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
            (Outcome::of(findings.is_empty()), lines.join("\n"))
        }
    };
    report::end(outcome.mark(), &title, started.elapsed());
    match outcome {
        Outcome::Passed => summaries(&said).for_each(indented),
        Outcome::Skipped => indented(&said),
        Outcome::Failed => report::line(said.trim_end()),
    }
    Ok(outcome)
}

impl Outcome {
    fn of(success: bool) -> Self {
        if success { Self::Passed } else { Self::Failed }
    }

    fn mark(self) -> Mark {
        match self {
            Self::Passed => Mark::Ok,
            Self::Skipped => Mark::Skip,
            Self::Failed => Mark::Fail,
        }
    }
}

/// The lines with which a test runner sums up: nextest's, and cargo's own unless nothing ran.
fn summaries(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| {
        line.starts_with("Summary [")
            || (line.starts_with("test result:") && !line.contains(" 0 passed; 0 failed;"))
    })
}

fn indented(line: &str) {
    report::line(format_args!("      {line}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_a_test_run_is_found() {
        let nextest = "    Starting 2 tests\n     Summary [   0.01s] 2 tests run: 2 passed\n";
        let found: Vec<&str> = summaries(nextest).collect();
        assert_eq!(found, ["Summary [   0.01s] 2 tests run: 2 passed"]);

        let cargo = "test result: ok. 3 passed; 0 failed; 0 ignored\n\
                     test result: ok. 0 passed; 0 failed; 0 ignored\n";
        let found: Vec<&str> = summaries(cargo).collect();
        assert_eq!(found, ["test result: ok. 3 passed; 0 failed; 0 ignored"]);
    }

    #[test]
    fn a_failure_names_the_command_that_repeats_it() {
        let stage = Stage {
            name: "fmt",
            about: "",
            mend: "cargo xtask fix",
            steps: |_| Vec::new(),
        };
        let step = Step::run("workspace", Invocation::cargo(&["fmt", "--check"]));
        let Error::Step { step, rerun, mend } = stage.failure(&step) else {
            panic!("a step failed");
        };
        assert_eq!(
            (step.as_str(), rerun.as_str(), mend),
            ("fmt (workspace)", "cargo fmt --check", "cargo xtask fix")
        );
    }
}
