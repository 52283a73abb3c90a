//! The world outside, as a file: an effect with a key that is there already is not
//! done again. A bank or a warehouse keeps such a list for its callers.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use durable_runtime::Failure;

/// Effects by idempotency key.
#[derive(Clone)]
pub(crate) struct Ledger {
    path: PathBuf,
    turn: Arc<Mutex<()>>,
}

impl Ledger {
    /// The ledger that belongs to this store.
    pub(crate) fn beside(store: &Path) -> Self {
        Self {
            path: store.with_extension("ledger"),
            turn: Arc::default(),
        }
    }

    /// Has an effect, unless it was had before under this key; says whether it is new.
    pub(crate) fn enter(&self, key: &str, what: &str) -> Result<bool, Failure> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.enter_alone(key, what)
            .map_err(|error| Failure::application("ledger", error.to_string()))
    }

    fn enter_alone(&self, key: &str, what: &str) -> io::Result<bool> {
        let begin = format!("{key} ");
        if self.lines()?.iter().any(|line| line.starts_with(&begin)) {
            return Ok(false);
        }
        let mut options = OpenOptions::new();
        let mut file = options.create(true).append(true).open(&self.path)?;
        writeln!(file, "{begin}{what}")?;
        Ok(true)
    }

    /// Everything that was done, in order.
    pub(crate) fn lines(&self) -> io::Result<Vec<String>> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text.lines().map(String::from).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}
