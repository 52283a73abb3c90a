//! The check that `ci` left the repository as it found it.
//!
//! It compares git's view (`git status`) before and after; the contents of a file
//! that was already modified are not compared. Outside a git checkout it does nothing.

use crate::error::Error;
use crate::process::Invocation;
use crate::workspace::Workspace;

/// Git's view of the repository at one moment; `None` outside a checkout.
#[derive(Debug)]
pub(super) struct Snapshot(Option<Vec<String>>);

impl Snapshot {
    pub(super) fn take(workspace: &Workspace) -> Self {
        let status = Invocation::git(&["status", "--porcelain", "--untracked-files=all"]);
        let answer = status.answer(&workspace.root);
        Self(answer.map(|text| text.lines().map(str::to_owned).collect()))
    }

    /// Fails with the lines that differ.
    pub(super) fn compare(&self, after: &Self) -> Result<(), Error> {
        let (Some(before), Some(after)) = (&self.0, &after.0) else {
            return Ok(());
        };
        let gone = before.iter().filter(|line| !after.contains(line));
        let new = after.iter().filter(|line| !before.contains(line));
        let lines: Vec<String> = gone
            .map(|line| format!("  - {line}"))
            .chain(new.map(|line| format!("  + {line}")))
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        Err(Error::Changed { lines })
    }

    /// What the summary says about it, once the comparison passed.
    pub(super) fn verdict(&self) -> &'static str {
        if self.0.is_some() {
            "nothing changed"
        } else {
            "no git checkout to compare"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(lines: &[&str]) -> Snapshot {
        Snapshot(Some(lines.iter().map(|&line| line.to_owned()).collect()))
    }

    #[test]
    fn equal_snapshots_pass_and_so_does_the_lack_of_git() {
        let dirty = snapshot(&[" M README.md"]);
        assert!(dirty.compare(&snapshot(&[" M README.md"])).is_ok());
        assert!(Snapshot(None).compare(&Snapshot(None)).is_ok());
    }

    #[test]
    fn a_new_and_a_vanished_line_are_both_named() {
        let before = snapshot(&[" M README.md"]);
        let error = before.compare(&snapshot(&[" M Cargo.lock"])).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("-  M README.md") && message.contains("+  M Cargo.lock"));
    }
}
