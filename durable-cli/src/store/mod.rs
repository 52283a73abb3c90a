//! Opening stores: which kind a location means, and what the command needs of each.
//!
//! A further kind of store is a file beside this one, a variant of [`Location`] and
//! an arm in [`Store::open`] and in [`Store::check`].

mod redis;
mod sqlite;

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use durable_core::provider::Provider;
use durable_provider_sqlite::SqliteProvider;
use durable_runtime::Client;

use crate::error::CliError;

/// Where a store is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Location {
    Sqlite(PathBuf),
    /// An address of another kind: `redis://…`.
    Url {
        scheme: String,
        rest: String,
    },
}

impl FromStr for Location {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return Ok(Self::Sqlite(path.into()));
        }
        Ok(match text.split_once("://") {
            Some((scheme, rest)) => Self::Url {
                scheme: scheme.into(),
                rest: rest.into(),
            },
            None => Self::Sqlite(text.into()),
        })
    }
}

/// Without user and password.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => path.display().fmt(f),
            Self::Url { scheme, rest } => {
                let host = rest
                    .rsplit_once('@')
                    .map_or(rest.as_str(), |(_, host)| host);
                write!(f, "{scheme}://{host}")
            }
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

/// Whether a store that is not there is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    IsAnError,
    IsCreated,
}

/// An open store.
pub(crate) struct Store {
    provider: Arc<dyn Provider>,
    backing: Backing,
    pub(crate) location: Location,
}

/// What is particular to a kind of store.
enum Backing {
    Sqlite(SqliteProvider),
    Redis,
}

/// What a store says of itself in a check.
#[derive(Default)]
pub(crate) struct Soundness {
    pub(crate) records: u64,
    pub(crate) findings: Vec<String>,
}

impl Store {
    pub(crate) async fn open(location: &Location, missing: Missing) -> Result<Self, CliError> {
        match location {
            Location::Sqlite(path) => {
                let sqlite = sqlite::open(path, missing)?;
                Ok(Self {
                    provider: Arc::new(sqlite.clone()),
                    backing: Backing::Sqlite(sqlite),
                    location: location.clone(),
                })
            }
            Location::Url { scheme, rest } if redis::SCHEMES.contains(&scheme.as_str()) => {
                let redis = redis::open(location, scheme, rest, missing).await?;
                Ok(Self {
                    provider: Arc::new(redis),
                    backing: Backing::Redis,
                    location: location.clone(),
                })
            }
            Location::Url { scheme, .. } => Err(CliError::NotBuiltIn {
                scheme: scheme.clone(),
            }),
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(Arc::clone(&self.provider))
    }

    /// The store's time.
    pub(crate) fn now_ms(&self) -> u64 {
        self.provider.now_ms()
    }

    pub(crate) fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    /// How many bytes it takes up, where that can be told.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match &self.location {
            Location::Sqlite(path) => Some(sqlite::bytes(path)),
            Location::Url { .. } => None,
        }
    }

    /// Checks everything that only this kind of store knows.
    pub(crate) async fn check(&self) -> Result<Soundness, CliError> {
        match &self.backing {
            Backing::Sqlite(sqlite) => sqlite::check(sqlite).await,
            // Its records are read, and decoded, with the histories.
            Backing::Redis => Ok(Soundness::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_a_path_unless_it_names_a_scheme() {
        let sqlite = |path: &str| Location::Sqlite(path.into());
        for (text, expected) in [
            ("orders.db", sqlite("orders.db")),
            ("sqlite:orders.db", sqlite("orders.db")),
            ("sqlite:///data/orders.db", sqlite("/data/orders.db")),
            ("./a:b/orders.db", sqlite("./a:b/orders.db")),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_not_shown() {
        let Ok(location) = "redis://user:p@ss@host:6379/0".parse::<Location>();
        assert_eq!(
            format!("{location} {location:?}"),
            "redis://host:6379/0 `redis://host:6379/0`"
        );
    }
}
