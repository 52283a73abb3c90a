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
/// let options = RedisOptions::default().prefix("orders").wait_replicas(1);
/// assert_eq!(options.durability, Durability::Strict);
/// assert_eq!((options.prefix.as_str(), options.wait_replicas), ("orders", 1));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisOptions {
    /// What all keys begin with, inside their hash tag. Stores with different prefixes on
    /// one server have nothing to do with each other. No braces, at most 128 bytes.
    /// Default: `durable`.
    pub prefix: String,
    /// Into how many partitions the store is split. It is fixed when the store is created
    /// and recorded there; opening it with another number is refused. `None` takes what
    /// is recorded; a new store gets 1 on a plain server and 32 on a cluster.
    /// Default: `None`.
    pub partitions: Option<usize>,
    /// What the server's settings must promise. Default: [`Durability::Strict`].
    pub durability: Durability,
    /// How many replicas must have a write before it is acknowledged (`WAIT`). With fewer
    /// within [`wait_timeout`](field@Self::wait_timeout) the answer is
    /// [`Unknown`](durable_core::provider::ProviderError::Unknown). Default: 0.
    pub wait_replicas: u32,
    /// How long `WAIT` waits for them. Default: 1 s.
    pub wait_timeout: Duration,
    /// Whether another host may be spoken to without TLS. Default: false.
    pub allow_plaintext: bool,
    /// Whom to trust at `rediss://` addresses, and who to be there. Default: the usual roots,
    /// and no certificate of the client.
    pub tls: RedisTls,
    /// How long a connection may take to be made. Default: 3 s.
    pub connect_timeout: Duration,
    /// How long an answer may take. After that a write may or may not have happened.
    /// Default: 10 s.
    pub response_timeout: Duration,
    /// How long it takes at most until a change is noticed although its wake-up was lost.
    /// Default: 5 s.
    pub poll_interval: Duration,
    /// How many connections to a plain server share the calls. Each node has one more for its
    /// heartbeats. Default: 2.
    pub connections: usize,
    /// How many messages of one instance one fetch gives at most. Default: 1,000.
    pub messages_per_fetch: usize,
    /// The largest names and payloads that are accepted. Default: [`Limits::default`].
    pub limits: Limits,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            prefix: "durable".into(),
            partitions: None,
            durability: Durability::Strict,
            wait_replicas: 0,
            wait_timeout: Duration::from_secs(1),
            allow_plaintext: false,
            tls: RedisTls::default(),
            connect_timeout: Duration::from_secs(3),
            response_timeout: Duration::from_secs(10),
            poll_interval: Duration::from_secs(5),
            connections: 2,
            messages_per_fetch: 1_000,
            limits: Limits::default(),
        }
    }
}

impl RedisOptions {
    /// Sets [`prefix`](field@Self::prefix).
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets [`partitions`](field@Self::partitions).
    #[must_use]
    pub fn partitions(mut self, partitions: Option<usize>) -> Self {
        self.partitions = partitions;
        self
    }

    /// Sets [`durability`](field@Self::durability).
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets [`wait_replicas`](field@Self::wait_replicas).
    #[must_use]
    pub fn wait_replicas(mut self, wait_replicas: u32) -> Self {
        self.wait_replicas = wait_replicas;
        self
    }

    /// Sets [`wait_timeout`](field@Self::wait_timeout).
    #[must_use]
    pub fn wait_timeout(mut self, wait_timeout: Duration) -> Self {
        self.wait_timeout = wait_timeout;
        self
    }

    /// Sets [`allow_plaintext`](field@Self::allow_plaintext).
    #[must_use]
    pub fn allow_plaintext(mut self, allow_plaintext: bool) -> Self {
        self.allow_plaintext = allow_plaintext;
        self
    }

    /// Sets [`tls`](field@Self::tls).
    #[must_use]
    pub fn tls(mut self, tls: RedisTls) -> Self {
        self.tls = tls;
        self
    }

    /// Sets [`connect_timeout`](field@Self::connect_timeout).
    #[must_use]
    pub fn connect_timeout(mut self, connect_timeout: Duration) -> Self {
        self.connect_timeout = connect_timeout;
        self
    }

    /// Sets [`response_timeout`](field@Self::response_timeout).
    #[must_use]
    pub fn response_timeout(mut self, response_timeout: Duration) -> Self {
        self.response_timeout = response_timeout;
        self
    }

    /// Sets [`poll_interval`](field@Self::poll_interval).
    #[must_use]
    pub fn poll_interval(mut self, poll_interval: Duration) -> Self {
        self.poll_interval = poll_interval;
        self
    }

    /// Sets [`connections`](field@Self::connections).
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets [`messages_per_fetch`](field@Self::messages_per_fetch).
    #[must_use]
    pub fn messages_per_fetch(mut self, messages_per_fetch: usize) -> Self {
        self.messages_per_fetch = messages_per_fetch;
        self
    }

    /// Sets [`limits`](field@Self::limits).
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}
