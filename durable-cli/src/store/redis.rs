//! Stores on Redis. Opening one takes no session and holds nothing.
//!
//! The provider creates a store where there is none, so a wrong address shows as an
//! empty store rather than as an error.

use durable_core::provider::ProviderError;
use durable_provider_redis::{Durability, RedisOptions, RedisProvider};

/// The schemes that mean Redis.
pub(super) const SCHEMES: [&str; 3] = ["redis", "rediss", "unix"];

/// Opens the store at this address. `?prefix=orders` at its end names a store that does
/// not have the usual prefix.
pub(super) async fn open(scheme: &str, rest: &str) -> Result<RedisProvider, ProviderError> {
    let (rest, prefix) = match rest.split_once("?prefix=") {
        Some((rest, prefix)) => (rest, Some(prefix.to_owned())),
        None => (rest, None),
    };
    let usual = RedisOptions::default();
    let options = RedisOptions {
        prefix: prefix.unwrap_or(usual.prefix),
        // What the server must promise is for the nodes to say; looking is free.
        durability: Durability::Relaxed,
        connections: 1,
        ..RedisOptions::default()
    };
    let url = format!("{scheme}://{rest}");
    RedisProvider::open_with(&[&url], options).await
}
