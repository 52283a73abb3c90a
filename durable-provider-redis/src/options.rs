//! How a store is opened.

use std::time::Duration;

use durable_core::Limits;

use crate::tls::RedisTls;

/// What the server's settings must promise before the store is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// Whatever was acknowledged survives the death of the server and a power cut:
    /// `appendonly yes`, `appendfsync always`, `no-appendfsync-on-rewrite no` and
    /// `maxmemory-policy noeviction`. A server that is set up otherwise, or that does not
    /// let itself be asked, is refused, and the error names the setting.
    ///
    /// A replica that takes over may lack what was acknowledged last, unless
    /// [`RedisOptions::wait_replicas`] is set.
    #[default]
    Strict,
    /// The server is used as it is. With `appendfsync everysec` the last second of
    /// acknowledged work can be lost, without an append-only file everything since the
    /// last snapshot, with an evicting memory policy any key at any time. Instances whose
    /// keys do not fit together any more are stopped and named, but an activity whose
    /// result was acknowledged may run again, and a start or an event that was acknowledged
    /// may be gone. What is found is logged as a warning.
    Relaxed,
}

/// How a store is opened. Start from [`RedisOptions::default`].
///
/// ```
/// use durable_provider_redis::{Durability, RedisOptions};
///
/// let options = RedisOptions {
///     prefix: "orders".into(),
///     wait_replicas: 1,
///     ..RedisOptions::default()
/// };
/// assert_eq!(options.durability, Durability::Strict);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisOptions {
    /// What all keys begin with, inside their hash tag. Stores with different prefixes on
    /// one server have nothing to do with each other. No braces, at most 128 bytes.
    pub prefix: String,
    /// Into how many partitions the store is split. It is fixed when the store is created
    /// and recorded there; opening it with another number is refused. `None` takes what
    /// is recorded; a new store gets 1 on a plain server and 32 on a cluster.
    pub partitions: Option<usize>,
    /// What the server's settings must promise.
    pub durability: Durability,
    /// How many replicas must have a write before it is acknowledged (`WAIT`). With fewer
    /// within [`wait_bound`](Self::wait_bound) the answer is
    /// [`Unknown`](durable_core::provider::ProviderError::Unknown).
    pub wait_replicas: u32,
    /// How long `WAIT` waits for them.
    pub wait_bound: Duration,
    /// Whether another host may be spoken to without TLS.
    pub allow_plaintext: bool,
    /// Whom to trust at `rediss://` addresses, and who to be there.
    pub tls: RedisTls,
    /// How long a connection may take to be made.
    pub connect_bound: Duration,
    /// How long an answer may take. After that a write may or may not have happened.
    pub response_bound: Duration,
    /// How long it takes at most until something is noticed although its wake-up was lost.
    pub poll_interval: Duration,
    /// How many connections to a plain server share the calls.
    pub connections: usize,
    /// How many messages of one instance one fetch gives at most.
    pub messages_per_fetch: usize,
    /// The largest names and payloads that are accepted.
    pub limits: Limits,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            prefix: "durable".into(),
            partitions: None,
            durability: Durability::Strict,
            wait_replicas: 0,
            wait_bound: Duration::from_secs(1),
            allow_plaintext: false,
            tls: RedisTls::default(),
            connect_bound: Duration::from_secs(3),
            response_bound: Duration::from_secs(10),
            poll_interval: Duration::from_secs(5),
            connections: 2,
            messages_per_fetch: 1_000,
            limits: Limits::default(),
        }
    }
}
