//! Group commit: the connection that writes, and the life of a group of requests.
//!
//! - No request is answered before its group is on disk, unless all of the group only
//!   changes leases: a power cut ends all sessions.
//! - A step that fails leaves nothing; the others stay whole.
//! - A commit that fails with an I/O error may have happened: every caller in the group is
//!   told so, the connection is closed, and the file is opened and checked again before
//!   anything else.

use std::path::Path;
use std::sync::Arc;

use durable_core::provider::ProviderError;
use rusqlite::Connection;

use super::busy;
use super::database_file::DatabaseFile;
use super::failed::Failed;
use super::guard::{Guard, Stepped};
use super::job::{BoxedJob, Outlives};
use super::other_processes::OtherProcesses;
use crate::clock::StoreClock;
use crate::connection;
use crate::lock::SessionLocks;
use crate::options::{Durability, SqliteOptions};
use crate::statistics::Counters;
use crate::store::{Statements, Store, WriterState};
use crate::wake::Wakeups;

/// The writer of one store.
#[derive(Debug)]
pub(crate) struct GroupCommit {
    options: Arc<SqliteOptions>,
    /// None while the connection is not to be trusted.
    connection: Option<Connection>,
    state: WriterState,
    shared: SharedParts,
    others: OtherProcesses,
    /// None for a store in memory.
    file: Option<DatabaseFile>,
    /// What the connection's commits outlive.
    outlives: Outlives,
}

/// What the writer shares with the handles of its store.
#[derive(Debug, Clone)]
pub(crate) struct SharedParts {
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) wakeups: Arc<Wakeups>,
    pub(crate) counters: Arc<Counters>,
}

impl SharedParts {
    pub(crate) fn new(options: &SqliteOptions) -> Self {
        Self {
            clock: Arc::new(StoreClock::new(Arc::clone(&options.clock))),
            wakeups: Arc::default(),
            counters: Arc::default(),
        }
    }
}

impl GroupCommit {
    /// Opens the store in a file, and expires the sessions of dead processes.
    pub(crate) fn open(
        path: &Path,
        options: &Arc<SqliteOptions>,
        shared: SharedParts,
    ) -> Result<Self, ProviderError> {
        let connection = connection::open_writer(path, options)?;
        let file = DatabaseFile::new(path, options);
        let locks = SessionLocks::new(path);
        Self::start(connection, Some((file, locks)), options, shared)
    }

    /// Opens a store in memory.
    pub(crate) fn open_in_memory(
        options: &Arc<SqliteOptions>,
        shared: SharedParts,
    ) -> Result<Self, ProviderError> {
        let connection = connection::open_in_memory(options)?;
        Self::start(connection, None, options, shared)
    }

    fn start(
        connection: Connection,
        file: Option<(DatabaseFile, SessionLocks)>,
        options: &Arc<SqliteOptions>,
        shared: SharedParts,
    ) -> Result<Self, ProviderError> {
        let (file, locks) = file.unzip();
        let mut writer = Self {
            connection: Some(connection),
            state: WriterState::new(options, Arc::clone(&shared.clock), locks),
            shared,
            others: OtherProcesses::new(options.poll_interval),
            file,
            outlives: Outlives::PowerCut,
            options: Arc::clone(options),
        };
        writer.run_checked(&mut [])?;
        Ok(writer)
    }

    /// The connection, if it is to be trusted.
    pub(crate) fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    /// Runs a group of requests in one transaction. They are to be answered now; the
    /// error is for all that were not refused for themselves.
    pub(crate) fn run(&mut self, jobs: &mut [BoxedJob]) -> Result<(), ProviderError> {
        self.shared.counters.add_requests(jobs.len());
        self.run_checked(jobs)
    }

    /// Runs a group of requests, and answers them here.
    pub(crate) fn run_and_answer(&mut self, mut jobs: Vec<BoxedJob>) {
        let error = self.run(&mut jobs).err();
        for job in jobs {
            job.answer(error.as_ref());
        }
        self.after_group();
    }

    /// What no caller need wait for, after a group was answered.
    pub(crate) fn after_group(&mut self) {
        if let (Some(file), Some(connection)) = (&mut self.file, &self.connection) {
            file.after_group(connection);
        }
    }

    /// Looks whether another process did something, while there is nothing to do.
    pub(crate) fn poll_other_processes(&mut self) {
        let Some(connection) = &self.connection else {
            return;
        };
        let Ok(true) = self.others.have_news(connection, &self.state) else {
            return;
        };
        if let Err(error) = self.run_checked(&mut []) {
            tracing::warn!(%error, "the changes of other processes could not be read");
        }
    }

    fn run_checked(&mut self, jobs: &mut [BoxedJob]) -> Result<(), ProviderError> {
        let result = self.transaction(jobs);
        if result.is_err() {
            // What the steps left in memory may not be in the file.
            self.others.distrust_memory();
            self.state.forget_rows();
        }
        self.publish();
        result
    }

    fn transaction(&mut self, jobs: &mut [BoxedJob]) -> Result<(), ProviderError> {
        self.reopen()?;
        let Some(connection) = self.connection.take() else {
            return Err(closed());
        };
        let outlives = jobs.iter().map(|job| job.outlives()).max();
        let result = self.set_synchronous(&connection, outlives.unwrap_or(Outlives::PowerCut));
        let result = result.and_then(|()| {
            let statements = Statements::on(&connection);
            let changes = connection.total_changes();
            self.begin(&statements)?;
            self.steps(&statements, jobs)?;
            self.commit(&connection, changes)
        });
        let is_spoiled = match &result {
            Ok(()) => false,
            Err(failed) => failed.spoils || !roll_back(&connection),
        };
        if !is_spoiled {
            self.connection = Some(connection);
        }
        result.map_err(|failed| failed.error)
    }

    /// Opens the file again after a connection was closed for its errors.
    fn reopen(&mut self) -> Result<(), ProviderError> {
        if self.connection.is_some() {
            return Ok(());
        }
        let Some(file) = &self.file else {
            return Err(closed());
        };
        self.connection = Some(file.reopen(&self.options)?);
        self.others.distrust_memory();
        self.outlives = Outlives::PowerCut;
        Ok(())
    }

    /// Has the next commit wait for the disk, or not. A later commit that waits takes
    /// along everything before it.
    fn set_synchronous(
        &mut self,
        connection: &Connection,
        outlives: Outlives,
    ) -> Result<(), Failed> {
        let is_set = self.outlives == outlives || self.file.is_none();
        if is_set || self.options.durability == Durability::Relaxed {
            return Ok(());
        }
        connection.execute_batch(match outlives {
            Outlives::Process => "PRAGMA synchronous = NORMAL",
            Outlives::PowerCut => "PRAGMA synchronous = FULL",
        })?;
        self.outlives = outlives;
        Ok(())
    }

    /// Begins a transaction, catches up with what other processes did, and reads the clock:
    /// the requests of a group all happen at one time.
    fn begin(&mut self, statements: &Statements<'_>) -> Result<(), Failed> {
        let connection = statements.connection;
        self.state.turns = 0;
        self.state.forget_changes_after(0);
        busy::retry(self.options.busy_timeout, || {
            execute(connection, "BEGIN IMMEDIATE")
        })?;
        let state = &mut self.state;
        self.others.catch_up(connection, state)?;
        Store { statements, state }.read_clock()?;
        self.others
            .expire_dead_sessions(statements, &mut self.state)?;
        Ok(())
    }

    /// Lets every request do its step.
    ///
    /// Steps check before they change anything, so one that is refused leaves
    /// nothing, and savepoints, which cost as much as a row, are not needed. If one
    /// fails half-way after all, the group is run again with a savepoint for each.
    fn steps(&mut self, statements: &Statements<'_>, jobs: &mut [BoxedJob]) -> Result<(), Failed> {
        for job in jobs.iter_mut() {
            if self.step(statements, job, Guard::None)? == Stepped::HalfWay {
                execute(statements.connection, "ROLLBACK")?;
                self.others.distrust_memory();
                self.begin(statements)?;
                return self.guarded_steps(statements, jobs);
            }
        }
        Ok(())
    }

    /// Lets every request do its step in a savepoint of its own.
    fn guarded_steps(
        &mut self,
        statements: &Statements<'_>,
        jobs: &mut [BoxedJob],
    ) -> Result<(), Failed> {
        for job in jobs {
            self.step(statements, job, Guard::Savepoint)?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        statements: &Statements<'_>,
        job: &mut BoxedJob,
        guard: Guard,
    ) -> Result<Stepped, Failed> {
        let (connection, state) = (statements.connection, &mut self.state);
        let (noted, turns) = (state.noted(), state.turns);
        let changes = connection.total_changes();
        guard.begin(connection)?;
        let Err(fault) = job.run(&mut Store { statements, state }) else {
            guard.keep(connection)?;
            return Ok(Stepped::Wholly);
        };
        if connection.is_autocommit() || fault.spoils_connection() {
            // The transaction is gone, and with it every step before this one.
            return Err(fault.into());
        }
        if guard == Guard::None && connection.total_changes() != changes {
            return Ok(Stepped::HalfWay);
        }
        guard.undo(connection)?;
        state.forget_changes_after(noted);
        state.turns = turns;
        state.forget_rows();
        state.reload(connection)?;
        job.refuse(fault.into_provider_error());
        Ok(Stepped::Wholly)
    }

    fn commit(&mut self, connection: &Connection, changes: u64) -> Result<(), Failed> {
        let has_changed = connection.total_changes() != changes;
        if has_changed {
            self.state.store(connection)?;
            if let Some(file) = &mut self.file {
                file.before_commit();
            }
        }
        if let Err(error) = execute(connection, "COMMIT") {
            return Err(Failed::at_commit(&error));
        }
        if !has_changed {
            return Ok(());
        }
        self.shared.counters.add_transaction();
        self.shared.counters.add_turns(self.state.turns);
        if let Some(file) = &mut self.file {
            file.check().map_err(|error| Failed {
                error,
                spoils: true,
            })?;
            // When the last node has gone, the file can be copied on its own.
            if self.state.sessions_changed && self.state.sessions.is_empty() {
                file.truncate_wal(connection);
            }
        }
        Ok(())
    }

    /// Wakes the waiters of what changed.
    fn publish(&mut self) {
        if self.state.sessions_changed {
            self.state.sessions_changed = false;
            self.shared.wakeups.set_sessions(self.state.live_sessions());
        }
        let (changes, version) = self.state.take_changes();
        self.shared.wakeups.publish(changes, version);
    }
}

/// A store in memory ends with its connection.
pub(crate) fn closed() -> ProviderError {
    ProviderError::Unusable {
        reason: "the store in memory is gone with its connection: restart this process".into(),
    }
}

/// Whether there is no transaction any more.
fn roll_back(connection: &Connection) -> bool {
    connection.is_autocommit() || execute(connection, "ROLLBACK").is_ok()
}

pub(super) fn execute(connection: &Connection, text: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(text)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use durable_core::provider::{IdReuse, Message, MessageBody, StartInstance, StartOutcome};
    use durable_core::{InstanceId, Limits};
    use tokio::sync::oneshot;

    use super::super::job::job;
    use super::*;
    use crate::error::Fault;
    use crate::turn::PreparedStart;

    fn open(path: &Path) -> GroupCommit {
        let options = Arc::new(SqliteOptions::default());
        GroupCommit::open(path, &options, SharedParts::new(&options)).unwrap()
    }

    type PendingStart = oneshot::Receiver<Result<StartOutcome, ProviderError>>;

    /// A start with an input of this size.
    fn start_job(id: &str, bytes: usize) -> (BoxedJob, PendingStart) {
        let id = InstanceId::from(id);
        let start = StartInstance::new("fulfil".into(), "x".repeat(bytes).into());
        let message = Message::new("s".into(), MessageBody::Start(start));
        let start = PreparedStart::new(&id, message, &Limits::default()).unwrap();
        job(Outlives::PowerCut, move |store| {
            store.start(&id, &start, IdReuse::Refuse)
        })
    }

    /// Starts instances in one group, each with an input of this size.
    fn start(
        writer: &mut GroupCommit,
        ids: &[&str],
        bytes: usize,
    ) -> Vec<Result<StartOutcome, ProviderError>> {
        let starts = ids.iter().map(|id| start_job(id, bytes));
        let (jobs, answers): (_, Vec<PendingStart>) = starts.unzip();
        writer.run_and_answer(jobs);
        answers
            .into_iter()
            .map(|mut answer| answer.try_recv().unwrap())
            .collect()
    }

    fn count(writer: &GroupCommit) -> i64 {
        let connection = writer.connection().unwrap();
        let records = "SELECT count(*) FROM record";
        connection.query_row(records, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_full_disk_refuses_what_does_not_fit_and_goes_on_when_there_is_room() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = open(&directory.path().join("a.db"));
        assert!(start(&mut writer, &["before"], 10)[0].is_ok());
        let set = |writer: &GroupCommit, pages: i64| {
            let connection = writer.connection().unwrap();
            let set = format!("PRAGMA max_page_count = {pages}");
            let read: i64 = connection.query_row(&set, [], |row| row.get(0)).unwrap();
            read
        };
        let room = set(&writer, 1) + 4;
        set(&writer, room);
        let answers = start(&mut writer, &["small", "large", "last"], 100_000);
        for answer in &answers {
            let error = answer.as_ref().unwrap_err();
            assert!(error.is_retryable(), "{error}");
        }
        assert_eq!(count(&writer), 1, "nothing of what was refused stays");
        set(&writer, 1_000_000);
        let answers = start(&mut writer, &["small", "large", "last"], 100_000);
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(count(&writer), 4);
    }

    #[test]
    fn a_connection_that_may_not_write_says_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = open(&directory.path().join("a.db"));
        let connection = writer.connection().unwrap();
        connection.pragma_update(None, "query_only", true).unwrap();
        let Err(ProviderError::Unusable { reason }) = &start(&mut writer, &["a"], 1)[0] else {
            panic!("it was written");
        };
        assert!(
            reason.contains("make the file and its directory writable"),
            "{reason}"
        );
    }

    #[test]
    fn one_refused_request_leaves_the_others_whole() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = open(&directory.path().join("a.db"));
        let refused = || Fault::Refused(closed());
        let (bad, mut answer) = job::<()>(Outlives::PowerCut, move |store| {
            store
                .statements
                .connection
                .execute_batch("DELETE FROM meta")?;
            Err(refused())
        });
        writer.run_and_answer(vec![bad]);
        assert_eq!(answer.try_recv().unwrap(), Err(closed()));
        assert!(start(&mut writer, &["a"], 1)[0].is_ok());
        assert_eq!(count(&writer), 1);
    }

    #[test]
    fn a_request_that_fails_half_way_leaves_the_others_whole() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = open(&directory.path().join("a.db"));
        let group = ["first", "second"].map(|id| start_job(id, 1));
        let (bad, mut refused) = job::<()>(Outlives::PowerCut, |store| {
            store
                .statements
                .connection
                .execute_batch("DELETE FROM record")?;
            Err(Fault::Refused(closed()))
        });
        let [(first, mut one), (second, mut two)] = group;
        writer.run_and_answer(vec![first, bad, second]);
        assert_eq!(refused.try_recv().unwrap(), Err(closed()));
        for answer in [&mut one, &mut two] {
            let outcome = answer.try_recv().unwrap();
            assert!(
                matches!(outcome, Ok(StartOutcome::Started { .. })),
                "{outcome:?}"
            );
        }
        assert_eq!(count(&writer), 2);
    }

    #[test]
    fn a_connection_that_was_closed_is_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = open(&directory.path().join("a.db"));
        assert!(start(&mut writer, &["a"], 1)[0].is_ok());
        writer.connection = None;
        assert!(start(&mut writer, &["b"], 1)[0].is_ok());
        assert_eq!(count(&writer), 2);
    }

    #[test]
    fn an_io_error_at_commit_is_an_unknown_answer() {
        let failure = |code| {
            let error = rusqlite::ffi::Error::new(code);
            Failed::at_commit(&rusqlite::Error::SqliteFailure(error, None))
        };
        let synced = failure(rusqlite::ffi::SQLITE_IOERR_FSYNC);
        assert!(matches!(synced.error, ProviderError::Unknown { .. }));
        assert!(synced.spoils);
        let full = failure(rusqlite::ffi::SQLITE_FULL);
        assert!(full.error.is_retryable());
        assert!(!full.spoils);
    }
}
