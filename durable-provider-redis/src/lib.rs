//! The storage contract of [`durable_core`] on Redis Streams, for many nodes.
//!
//! The same orchestrations, the same tests, another provider: when one machine is not
//! enough, nodes on any number of machines share a Redis server or a cluster.
//!
//! ```no_run
//! use durable_provider_redis::{RedisOptions, RedisProvider};
//!
//! # async fn example() -> Result<(), durable_core::provider::ProviderError> {
//! let options = RedisOptions::default().prefix("orders");
//! let url = "rediss://orders:secret@redis.example.com:6380";
//! let provider = RedisProvider::open_with(&[url], options).await?;
//! # drop(provider);
//! # Ok(())
//! # }
//! ```
//!
//! `cargo run -p durable-examples --bin nodes` shows three node processes that
//! share 1,000 orchestrations while one of them is killed.
//!
//! # What it promises
//!
//! - **Durability is checked, not hoped for.** Opening a store looks at the server's
//!   settings. [`Durability::Strict`], the default, refuses one that may lose what it
//!   acknowledged, and names the setting; [`Durability::Relaxed`] takes it as it is and says
//!   what that risks. A replica that takes over lacks what it had not received:
//!   [`RedisOptions::wait_replicas`] waits for it, and a write that too few replicas have is
//!   [`Unknown`](durable_core::provider::ProviderError::Unknown).
//! - **One script per commit.** A turn is one run of a Lua script (which several turns share
//!   when many are on their way) that checks everything before it writes anything: lease and
//!   session, tail of the history (an entry's id in its stream is its event id, so the server
//!   itself refuses a second one), commit id. Every key is declared, so a cluster may move
//!   slots while nodes work.
//! - **The server's clock.** Leases and timers go by it; the clocks of nodes do not matter. A
//!   handle estimates it from the server's answers
//!   ([`now_ms`](durable_core::provider::Provider::now_ms)). Let it be slewed, not stepped: a
//!   step forward ends sessions early and fires timers early by as much, a step back makes them
//!   late. Nothing is lost or done twice by either: a node that lost a lease is fenced.
//!   [`RedisProvider::open_with_clock`] gives a store another clock, for tests in virtual time.
//! - **Sessions.** A node that is silent for its session timeout loses what it holds, and the
//!   node that asks next claims it. The silent one can then neither commit nor settle work.
//! - **Code.** A session is given only what its node can run. What waits for the code of other
//!   nodes costs a fetch one look for each different code, however many instances or work items
//!   need it, and wakes no node that lacks it.
//! - **Wake-ups.** Scripts publish what they changed, and each process listens on one
//!   connection of its own. What was not heard is found within
//!   [`RedisOptions::poll_interval`], which is also about how often an idle node asks at all.
//! - **What is damaged is stopped.** An instance whose keys were removed or do not decode is
//!   reported by name, and the others go on.
//!
//! # Partitions and clusters
//!
//! A store is split into partitions; all of an instance is in one of them, with one hash tag.
//! A plain server has one by default, a cluster 32. The number is fixed when the store is
//! created. A message to another partition is written to an outbox in the sender's commit
//! and delivered once, in order, by the node that comes first. A commit claims work of its
//! own partition only; [`fetch_work`](durable_core::provider::Provider::fetch_work) looks at
//! all of them, oldest first. While a slot migrates, its partition stands still: calls for it
//! wait, and after two seconds they are
//! [`Unavailable`](durable_core::provider::ProviderError::Unavailable), which says that
//! nothing happened. Nothing is lost or done twice, and a node that asks all partitions for
//! what is ready waits as long.
//!
//! # Who may talk to the server
//!
//! Use `rediss://` (TLS, checked against the usual roots or against your own,
//! [`RedisOptions::tls`], where a client's certificate is given, too) and a user of its own.
//! It needs these rights (for the prefix `orders`); without `CONFIG GET` the strict mode has to refuse:
//!
//! ```text
//! ACL SETUSER orders on >secret resetkeys ~{orders:* ~orders:store resetchannels &orders:changes
//!     -@all +@read +@write +@scripting +@connection +publish +subscribe +wait +time
//!     -@dangerous +info +config|get +cluster|slots
//! ```
//!
//! Another host is spoken to in the clear only if [`RedisOptions::allow_plaintext`] says so.
//! Passwords are in no error, no log and no `Debug`. Payloads and names are stored as they
//! are.
//!
//! # Memory
//!
//! Redis keeps everything in memory. An instance that ran one activity and waits was measured
//! to take 5.7 KB of a server with default settings. Most of it is room that the server
//! reserves for the next entries of the history: with `stream-node-max-bytes 512` it is 2.2 KB.
//! A further event takes about 70 bytes more than its payload. Consumed messages, finished
//! work and fired timers are deleted; a finished instance goes when it is purged, and a
//! tombstone of its id and its last execution (about 100 bytes) stays. `cargo xtask bench
//! redis` measures it.
//!
//! The crate depends on the core only, never on the runtime or on another provider.

mod attribute;
mod check;
mod claim_instances;
mod client;
mod clock;
mod code;
mod codec;
mod commit;
mod connection;
mod error;
mod group;
mod keys;
mod links;
mod listener;
mod open_work;
mod opening;
mod options;
mod provider;
mod prune;
mod purge;
mod query;
mod receipt;
mod record;
mod relay;
mod reply;
mod script;
mod session;
mod store;
mod timer;
mod tls;
mod turn;
mod wake;
mod work;

pub use options::{Durability, RedisOptions};
pub use provider::RedisProvider;
pub use tls::{RedisIdentity, RedisTls};
