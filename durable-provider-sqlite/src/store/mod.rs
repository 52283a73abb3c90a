//! What a request does within the writer's transaction: each method of the contract
//! as a function on [`Store`].
//!
//! - A `Store` borrows the [`Statements`] of an open transaction and the writer's
//!   [`WriterState`]; nothing here begins or ends a transaction.
//! - The file is the truth. The state holds copies of what is small (the store's
//!   time, the counter, the sessions) and of held instances, and is read again
//!   whenever another process changed the file.
//! - No session holds a suspended instance.

mod attribute;
mod catalog;
mod claim_instances;
mod client;
mod commit;
mod deliver;
mod inline_work;
mod instance;
mod prune;
mod purge;
mod session;
mod settle;
mod state;
mod statements;
mod timer;
mod work;

use durable_core::InstanceId;
use durable_core::provider::{Change, SessionId};
use rusqlite::{OptionalExtension, Params};

use crate::error::Step;
use crate::number::int;
use crate::sql;
use statements::TakenStatement;

pub(crate) use attribute::attribute_of;
pub(crate) use inline_work::{InlineWork, unreadable_inline_work};
pub(crate) use prune::OldExecution;
pub(crate) use state::WriterState;
pub(crate) use statements::Statements;

/// The store within a transaction.
#[derive(Debug)]
pub(crate) struct Store<'a, 'c> {
    pub(crate) statements: &'a Statements<'c>,
    pub(crate) state: &'a mut WriterState,
}

impl<'c> Store<'_, 'c> {
    /// Reads the clock, and ends the sessions whose heartbeat is late by it.
    pub(crate) fn read_clock(&mut self) -> Step<()> {
        self.state.read_clock();
        self.end_late_sessions()
    }

    /// Remembers a change, for the callers that wait for it.
    fn note(&mut self, change: Change) {
        self.state.note(change);
    }

    fn statement(&self, text: &'static str) -> Step<TakenStatement<'_, 'c>> {
        Ok(self.statements.take(text)?)
    }

    /// Runs a statement; answers how many rows it changed.
    fn run(&self, text: &'static str, parameters: impl Params) -> Step<usize> {
        Ok(self.statement(text)?.execute(parameters)?)
    }

    /// Whether a query finds anything.
    fn finds(&self, text: &'static str, parameters: impl Params) -> Step<bool> {
        Ok(self.statement(text)?.exists(parameters)?)
    }

    /// The number that a query finds first.
    fn number(&self, text: &'static str, parameters: impl Params) -> Step<Option<i64>> {
        let mut statement = self.statement(text)?;
        Ok(statement
            .query_row(parameters, |row| row.get(0))
            .optional()?)
    }

    /// The key of an instance, if there is one with this id.
    fn key_of(&mut self, id: &InstanceId) -> Step<Option<i64>> {
        if let Some(key) = self.state.known_key(id) {
            return Ok(Some(key));
        }
        let key = self.number(sql::KEY_OF_ID, [id.as_str()])?;
        if let Some(key) = key {
            self.state.remember_key(id, key);
        }
        Ok(key)
    }

    /// The id of an instance that exists.
    fn id_of(&self, key: i64) -> Step<InstanceId> {
        let mut statement = self.statement(sql::ID_OF_KEY)?;
        let id: String = statement.query_row([key], |row| row.get(0))?;
        Ok(InstanceId::from(id))
    }
}

/// A session as a number in a row.
fn holder(session: SessionId) -> i64 {
    int(session.0)
}
