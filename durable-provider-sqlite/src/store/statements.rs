//! The statements of a group of requests, prepared once.
//!
//! The connection's cache hashes and copies the text of a statement at every use. A group
//! uses the same few again and again, so it keeps them until it is over.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

use rusqlite::{CachedStatement, Connection};

/// A connection, and the statements of a group on it.
pub(crate) struct Statements<'c> {
    pub(crate) connection: &'c Connection,
    idle: RefCell<Vec<(&'static str, CachedStatement<'c>)>>,
}

impl<'c> Statements<'c> {
    pub(crate) fn on(connection: &'c Connection) -> Self {
        Self {
            connection,
            idle: RefCell::default(),
        }
    }

    /// A statement to run; one that runs already is prepared again.
    pub(super) fn take(&self, text: &'static str) -> rusqlite::Result<TakenStatement<'_, 'c>> {
        let mut idle = self.idle.borrow_mut();
        let found = idle.iter().position(|(known, _)| *known == text);
        let statement = match found {
            Some(at) => idle.swap_remove(at).1,
            None => self.connection.prepare_cached(text)?,
        };
        Ok(TakenStatement {
            home: self,
            text,
            statement: Some(statement),
        })
    }
}

impl fmt::Debug for Statements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let idle = self.idle.borrow();
        f.debug_list()
            .entries(idle.iter().map(|(text, _)| text))
            .finish()
    }
}

/// A statement that runs. It goes back when it is dropped.
pub(super) struct TakenStatement<'s, 'c> {
    home: &'s Statements<'c>,
    text: &'static str,
    statement: Option<CachedStatement<'c>>,
}

impl<'c> Deref for TakenStatement<'_, 'c> {
    type Target = CachedStatement<'c>;

    fn deref(&self) -> &Self::Target {
        match &self.statement {
            Some(statement) => statement,
            None => unreachable!("it goes back only when it is dropped"),
        }
    }
}

impl DerefMut for TakenStatement<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match &mut self.statement {
            Some(statement) => statement,
            None => unreachable!("it goes back only when it is dropped"),
        }
    }
}

impl Drop for TakenStatement<'_, '_> {
    fn drop(&mut self) {
        let statement = self.statement.take();
        let statement = statement.map(|statement| (self.text, statement));
        self.home.idle.borrow_mut().extend(statement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_prepared_once_unless_it_runs() {
        const ONE: &str = "SELECT 1";
        let connection = Connection::open_in_memory().unwrap();
        let statements = Statements::on(&connection);
        let value =
            |taken: &mut TakenStatement<'_, '_>| taken.query_row([], |row| row.get::<_, i64>(0));
        for _ in 0..3 {
            assert_eq!(value(&mut statements.take(ONE).unwrap()), Ok(1));
            assert_eq!(format!("{statements:?}"), r#"["SELECT 1"]"#);
        }
        let first = &mut statements.take(ONE).unwrap();
        let second = &mut statements.take(ONE).unwrap();
        assert_eq!(format!("{statements:?}"), "[]");
        assert_eq!((value(first), value(second)), (Ok(1), Ok(1)));
        assert!(statements.take("SELECT").is_err());
    }
}
