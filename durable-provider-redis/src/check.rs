//! The look at the server before it is used: is it new enough, and will it keep what it
//! acknowledges?

use std::collections::BTreeMap;
use std::fmt;

use durable_core::provider::ProviderError;
use redis::aio::ConnectionLike;
use redis::{Cmd, FromRedisValue, RedisResult, Value};

use crate::error::{self, Effect};
use crate::options::{Durability, RedisOptions};

/// The oldest server whose scripts say up front what they may do.
const OLDEST: (u64, u64) = (7, 0);

/// What must be set, and to what.
const SETTINGS: [(&str, &str); 4] = [
    ("appendonly", "yes"),
    ("appendfsync", "always"),
    ("no-appendfsync-on-rewrite", "no"),
    ("maxmemory-policy", "noeviction"),
];

/// What a server says of itself.
#[derive(Debug, Default)]
pub(crate) struct ServerInfo {
    info: BTreeMap<String, String>,
    config: Option<BTreeMap<String, String>>,
}

impl ServerInfo {
    /// Asks a server.
    pub(crate) async fn ask(connection: &mut impl ConnectionLike) -> Result<Self, ProviderError> {
        let info: String = ask(connection, redis::cmd("INFO").arg("everything")).await?;
        let mut command = redis::cmd("CONFIG");
        command.arg("GET");
        for (name, _) in SETTINGS {
            command.arg(name);
        }
        let config = connection.req_packed_command(&command).await;
        let config = config.and_then(Value::extract_error);
        Ok(Self {
            info: fields(&info),
            config: config
                .ok()
                .and_then(|value| BTreeMap::from_redis_value(value).ok()),
        })
    }

    /// The server's time when it was asked.
    pub(crate) fn time_ms(&self) -> Option<u64> {
        let micros: u64 = self.info("server_time_usec").parse().ok()?;
        Some(micros / 1_000)
    }

    pub(crate) fn is_cluster(&self) -> bool {
        self.info("cluster_enabled") == "1"
    }

    /// Refuses a server that cannot be used at all, and, in strict mode, one that may lose
    /// what it acknowledged; otherwise says what it found.
    pub(crate) fn check(&self, options: &RedisOptions) -> Result<(), ProviderError> {
        let version = self.info("redis_version");
        if !is_new_enough(version) {
            return Err(unusable(format!(
                "the server is version {version}; at least {}.{} is needed",
                OLDEST.0, OLDEST.1
            )));
        }
        if self.info("role") != "master" {
            return Err(unusable(
                "the server is a replica: use the address of its primary".into(),
            ));
        }
        let risks = self.risks(options);
        match options.durability {
            Durability::Relaxed => {
                for risk in risks {
                    tracing::warn!(%risk, "acknowledged work may be lost");
                }
                Ok(())
            }
            Durability::Strict if risks.is_empty() => Ok(()),
            Durability::Strict => {
                let risks: Vec<String> = risks.iter().map(ToString::to_string).collect();
                Err(unusable(format!(
                    "the server may lose acknowledged work: {}; or choose `Durability::Relaxed`",
                    risks.join("; ")
                )))
            }
        }
    }

    fn risks(&self, options: &RedisOptions) -> Vec<Risk> {
        let mut risks = Vec::new();
        match &self.config {
            Some(config) => {
                for (name, wanted) in SETTINGS {
                    match config.get(name) {
                        Some(found) if found == wanted => {}
                        Some(found) => risks.push(Risk::Setting {
                            name,
                            wanted,
                            found: found.clone(),
                        }),
                        None => risks.push(Risk::Unverified { name }),
                    }
                }
            }
            None => risks.extend(self.risks_without_config()),
        }
        if self.info("aof_last_write_status") != "ok" {
            risks.push(Risk::Writes);
        }
        let replicas = self.info("connected_slaves").parse().unwrap_or(0);
        if replicas < options.wait_replicas {
            risks.push(Risk::Replicas {
                wanted: options.wait_replicas,
                found: replicas,
            });
        }
        risks
    }

    /// What can be seen without the right to `CONFIG GET`.
    fn risks_without_config(&self) -> Vec<Risk> {
        let mut risks = vec![
            Risk::Unverified {
                name: "appendfsync",
            },
            Risk::Unverified {
                name: "no-appendfsync-on-rewrite",
            },
        ];
        if self.info("aof_enabled") != "1" {
            risks.push(Risk::Setting {
                name: "appendonly",
                wanted: "yes",
                found: "no".into(),
            });
        }
        let policy = self.info("maxmemory_policy");
        if policy != "noeviction" {
            risks.push(Risk::Setting {
                name: "maxmemory-policy",
                wanted: "noeviction",
                found: policy.into(),
            });
        }
        risks
    }

    fn info(&self, name: &str) -> &str {
        self.info.get(name).map(String::as_str).unwrap_or_default()
    }
}

/// Why acknowledged work may be lost.
#[derive(Debug)]
enum Risk {
    Setting {
        name: &'static str,
        wanted: &'static str,
        found: String,
    },
    Unverified {
        name: &'static str,
    },
    Writes,
    Replicas {
        wanted: u32,
        found: u32,
    },
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting {
                name,
                wanted,
                found,
            } => write!(f, "set `{name} {wanted}` (it is `{found}`)"),
            Self::Unverified { name } => {
                write!(f, "`{name}` cannot be read: allow this user `CONFIG GET`")
            }
            Self::Writes => f.write_str("the last write of the append-only file failed"),
            Self::Replicas { wanted, found } => {
                write!(
                    f,
                    "{wanted} replicas are waited for and {found} are connected"
                )
            }
        }
    }
}

fn fields(info: &str) -> BTreeMap<String, String> {
    info.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}

fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let found: (u64, u64) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    found >= OLDEST
}

async fn ask<T: FromRedisValue>(
    connection: &mut impl ConnectionLike,
    command: &Cmd,
) -> Result<T, ProviderError> {
    let answer: RedisResult<T> = command.query_async(connection).await;
    answer.map_err(|error| error::of_call(&error, Effect::Reads))
}

fn unusable(reason: String) -> ProviderError {
    ProviderError::Unusable { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (version, is_fine) in [
            ("6.2.9", false),
            ("7.0.15", true),
            ("10.1", true),
            ("", false),
        ] {
            assert_eq!(is_new_enough(version), is_fine, "{version}");
        }
    }
}
