//! What a step of a group can be undone with, and what became of it.

use rusqlite::Connection;

use super::group_commit::execute;

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stepped {
    /// It was done, or refused and nothing of it is left.
    Wholly,
    /// It failed, and what it had done until then is still there.
    HalfWay,
}

/// What a step can be undone with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    None,
    Savepoint,
}

impl Guard {
    pub(super) fn begin(self, connection: &Connection) -> rusqlite::Result<()> {
        self.run(connection, "SAVEPOINT step")
    }

    pub(super) fn keep(self, connection: &Connection) -> rusqlite::Result<()> {
        self.run(connection, "RELEASE step")
    }

    pub(super) fn undo(self, connection: &Connection) -> rusqlite::Result<()> {
        self.run(connection, "ROLLBACK TO step")?;
        self.run(connection, "RELEASE step")
    }

    fn run(self, connection: &Connection, text: &str) -> rusqlite::Result<()> {
        match self {
            Self::None => Ok(()),
            Self::Savepoint => execute(connection, text),
        }
    }
}
