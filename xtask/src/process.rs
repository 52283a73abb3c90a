//! One external command: how it is written for people, and how it is run.
//!
//! It does not decide what a failure means and prints nothing itself.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::error::Error;

/// A command line that is run in the workspace root. `Display` gives the line to type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invocation {
    program: Cow<'static, str>,
    arguments: Vec<String>,
    variable: Option<(&'static str, &'static str)>,
}

/// What a captured command wrote, both streams in the order of writing, and how it ended.
#[derive(Debug)]
pub(crate) struct Transcript {
    pub(crate) success: bool,
    pub(crate) text: String,
}

impl Invocation {
    pub(crate) fn cargo(arguments: &[&str]) -> Self {
        Self::new("cargo", arguments)
    }

    pub(crate) fn git(arguments: &[&str]) -> Self {
        Self::new("git", arguments)
    }

    /// A command of any program.
    pub(crate) fn new(program: impl Into<Cow<'static, str>>, arguments: &[&str]) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.iter().map(|&part| part.to_owned()).collect(),
            variable: None,
        }
    }

    /// Sets an environment variable for this command.
    pub(crate) fn with_variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variable = Some((name, value));
        self
    }

    /// Runs it with its output captured, without colours.
    pub(crate) fn capture(&self, root: &Path) -> Result<Transcript, Error> {
        self.run_captured(root)
            .map_err(|source| self.not_run(source))
    }

    /// Runs it with its output going where ours goes.
    pub(crate) fn stream(&self, root: &Path) -> Result<(), Error> {
        let status = self
            .command(root)
            .status()
            .map_err(|source| self.not_run(source))?;
        self.expect_success(status)
    }

    /// Runs it for its standard output; `None` when it failed or is not installed.
    pub(crate) fn answer(&self, root: &Path) -> Option<String> {
        let output = self.command(root).stdin(Stdio::null()).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn run_captured(&self, root: &Path) -> io::Result<Transcript> {
        let (mut reader, writer) = io::pipe()?;
        let mut child = self
            .command(root)
            .env("CARGO_TERM_COLOR", "never")
            .env("TERM", "dumb")
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .spawn()?;
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        Ok(Transcript {
            success: child.wait()?.success(),
            text: String::from_utf8_lossy(&bytes).into_owned(),
        })
    }

    fn command(&self, root: &Path) -> Command {
        let mut command = Command::new(&*self.program);
        command
            .args(&self.arguments)
            .envs(self.variable)
            .current_dir(root);
        command
    }

    fn expect_success(&self, status: ExitStatus) -> Result<(), Error> {
        if status.success() {
            return Ok(());
        }
        Err(Error::Failed {
            command: self.to_string(),
        })
    }

    fn not_run(&self, source: io::Error) -> Error {
        Error::NotRun {
            command: self.to_string(),
            source,
        }
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, value)) = self.variable {
            write!(f, "{name}=\"{value}\" ")?;
        }
        f.write_str(&self.program)?;
        for argument in &self.arguments {
            if argument.contains(' ') {
                write!(f, " \"{argument}\"")?;
            } else {
                write!(f, " {argument}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_as_one_would_type_it() {
        let doc =
            Invocation::cargo(&["doc", "--no-deps"]).with_variable("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(
            doc.to_string(),
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --no-deps"
        );
    }

    #[test]
    fn a_captured_command_tells_success_from_failure() {
        let here = Path::new(".");
        let version = Invocation::cargo(&["--version"]).capture(here).unwrap();
        assert!(version.success && version.text.starts_with("cargo "));
        let unknown = Invocation::cargo(&["--no-such-option"])
            .capture(here)
            .unwrap();
        assert!(!unknown.success && unknown.text.contains("--no-such-option"));
    }

    #[test]
    fn a_command_that_fails_has_no_answer() {
        let unknown = Invocation::cargo(&["--no-such-option"]);
        assert_eq!(unknown.answer(Path::new(".")), None);
    }
}
