//! The storage contract of [`durable_core`] on Redis Streams, for many nodes.

mod check;
mod client;
mod codec;
mod commit;
mod connection;
mod error;
mod handout;
mod keys;
mod limits;
mod listener;
mod opening;
mod options;
mod provider;
mod purge;
mod query;
mod record;
mod relay;
mod reply;
mod script;
mod session;
mod store;
mod timer;
mod turn;
mod wake;
mod work;

pub use options::{ClockSource, Durability, RedisOptions};
pub use provider::RedisProvider;
