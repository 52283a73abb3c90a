//! One lock of the operating system for each session.
//!
//! A session's lock is held by the process that opened it, on a file beside the
//! database. The system frees it when the process dies, whatever killed it; so a
//! lock that can be acquired belongs to a session that is dead.
//!
//! The file is locked before the session is stored, and removed after it was ended:
//! a stored session without a file is dead too.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use durable_core::provider::SessionId;

/// The locks of the sessions of one database.
#[derive(Debug)]
pub(crate) struct SessionLocks {
    database: PathBuf,
    held: HashMap<SessionId, File>,
}

impl SessionLocks {
    pub(crate) fn new(database: &Path) -> Self {
        Self {
            database: database.to_owned(),
            held: HashMap::new(),
        }
    }

    /// Locks the file of a new session.
    pub(crate) fn acquire(&mut self, session: SessionId) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).write(true);
        for_its_owner_only(&mut options);
        let file = options.open(self.path(session))?;
        match file.try_lock() {
            Ok(()) => {
                self.held.insert(session, file);
                Ok(())
            }
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Forgets a session that has ended, whichever process opened it.
    pub(crate) fn remove(&mut self, session: SessionId) {
        self.held.remove(&session);
        // A file that stays behind means nothing without its session.
        let _ = std::fs::remove_file(self.path(session));
    }

    /// Gives up the locks of sessions that are not stored: they were ended elsewhere,
    /// or never came to be.
    pub(crate) fn keep_only(&mut self, is_stored: impl Fn(SessionId) -> bool) {
        let held = self.held.keys().copied();
        let gone: Vec<SessionId> = held.filter(|session| !is_stored(*session)).collect();
        for session in gone {
            self.remove(session);
        }
    }

    /// Whether this process opened the session.
    pub(crate) fn is_own(&self, session: SessionId) -> bool {
        self.held.contains_key(&session)
    }

    /// Whether the process that opened a session is dead. In doubt it lives, and its
    /// heartbeat decides.
    pub(crate) fn is_dead(&self, session: SessionId) -> bool {
        if self.is_own(session) {
            return false;
        }
        match OpenOptions::new().write(true).open(self.path(session)) {
            Ok(file) => file.try_lock().is_ok(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    fn path(&self, session: SessionId) -> PathBuf {
        let mut path = self.database.clone().into_os_string();
        path.push(format!(".session-{}.lock", session.0));
        path.into()
    }
}

/// A file that is created is for its owner only.
pub(crate) fn for_its_owner_only(options: &mut OpenOptions) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = options;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_lives_as_long_as_its_holder() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("a.db");
        let session = SessionId(7);
        let mut holder = SessionLocks::new(&database);
        let mut other = SessionLocks::new(&database);
        assert!(other.is_dead(session), "there is no file yet");
        holder.acquire(session).unwrap();
        assert!(!other.is_dead(session));
        assert!(!holder.is_dead(session));
        assert!(other.acquire(session).is_err());
        drop(holder);
        assert!(other.is_dead(session));
        other.remove(session);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
