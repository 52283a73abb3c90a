//! Opening a store: servers that may lose what they acknowledge are refused by name, and
//! nothing that is said about a store says its password.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::time::Duration;

use durable_core::provider::ProviderError;
use durable_provider_redis::{Durability, RedisOptions, RedisProvider};

use support::code::{PARENT, node};
use support::server::{Server, store_options};

fn relaxed() -> RedisOptions {
    store_options().durability(Durability::Relaxed)
}

async fn refusal(url: &str, options: RedisOptions) -> String {
    match RedisProvider::open_with(&[url], options).await {
        Err(ProviderError::Unusable { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_may_lose_acknowledged_work_is_refused_by_setting() {
    let always = ["--appendonly", "yes", "--appendfsync", "always"];
    let on_rewrite = ["--no-appendfsync-on-rewrite", "yes"];
    let evicting = ["--maxmemory-policy", "allkeys-lru"];
    let cases: [(Vec<&str>, &str); 4] = [
        (vec![], "set `appendonly yes` (it is `no`)"),
        (
            vec!["--appendonly", "yes"],
            "set `appendfsync always` (it is `everysec`)",
        ),
        (
            [always.as_slice(), &on_rewrite].concat(),
            "set `no-appendfsync-on-rewrite no` (it is `yes`)",
        ),
        (
            [always.as_slice(), &evicting].concat(),
            "set `maxmemory-policy noeviction` (it is `allkeys-lru`)",
        ),
    ];
    for (settings, expected) in cases {
        let server = Server::with(&settings);
        let reason = refusal(&server.url(), store_options()).await;
        assert!(reason.contains(expected), "{reason}");
        assert!(reason.contains("Durability::Relaxed"), "{reason}");
        let provider = server.open(relaxed()).await;
        assert_eq!(provider.partitions(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_let_itself_be_asked_is_refused() {
    let server = Server::start();
    server.command("ACL SETUSER orders on >hunter2 ~* &* +@all -config");
    let url = format!("redis://orders:hunter2@127.0.0.1:{}", server.port());
    let reason = refusal(&url, store_options()).await;
    assert!(reason.contains("`appendfsync` cannot be read"), "{reason}");
    assert!(reason.contains("CONFIG GET"), "{reason}");
}

/// The rights that the documentation of the crate names are enough.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_the_documented_rights_can_work_and_nothing_else() {
    let server = Server::start();
    server.command(
        "ACL SETUSER orders on >secret resetkeys ~{orders:* ~orders:store resetchannels \
         &orders:changes -@all +@read +@write +@scripting +@connection +publish +subscribe +wait +time \
         -@dangerous +info +config|get +cluster|slots",
    );
    let url = format!("redis://orders:secret@127.0.0.1:{}", server.port());
    let options = RedisOptions::default().prefix("orders");
    let provider = RedisProvider::open_with(&[&url], options).await.unwrap();
    let runtime = node(&provider, Duration::from_secs(60)).await;
    let instance = runtime.client().start(PARENT, "order-1", &1).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), 4);
    runtime.shutdown(Duration::from_secs(5)).await;
    let other = RedisOptions::default().prefix("others");
    let reason = refusal(&url, other).await;
    assert!(
        reason.contains("NOPERM") || reason.contains("permissions"),
        "{reason}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_that_are_waited_for_must_be_there() {
    let server = Server::start();
    let options = store_options().wait_replicas(1);
    let reason = refusal(&server.url(), options).await;
    assert!(reason.contains("1 replicas are waited for"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_no_place_for_a_store() {
    let primary = Server::start();
    let port = primary.port().to_string();
    let replica = Server::with(&["--replicaof", "127.0.0.1", &port]);
    let reason = refusal(&replica.url(), relaxed()).await;
    assert!(reason.contains("replica"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_partitions_is_fixed() {
    let server = Server::start();
    let options = store_options().partitions(Some(4));
    assert_eq!(server.open(options.clone()).await.partitions(), 4);
    let other = options.clone().partitions(Some(5));
    let reason = refusal(&server.url(), other).await;
    assert!(reason.contains("created with 4 partitions"), "{reason}");
    let unset = options.partitions(None);
    assert_eq!(server.open(unset).await.partitions(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_not_there_is_not_made_by_looking() {
    let server = Server::start();
    let (url, options) = (server.url(), store_options());
    let urls = [url.as_str()];
    match RedisProvider::open_existing(&urls, options.clone()).await {
        Err(ProviderError::Unusable { reason }) => {
            let expected = format!("there is no store with the prefix `{}`", options.prefix);
            assert!(reason.contains(&expected), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(server.command("DBSIZE"), ":0\r\n");
    drop(server.open(options.clone()).await);
    let existing = RedisProvider::open_existing(&urls, options).await.unwrap();
    assert_eq!(existing.partitions(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn options_that_make_no_sense_are_refused() {
    let server = Server::start();
    for prefix in ["", "a{b", "}", &"x".repeat(129)] {
        let options = store_options().prefix(prefix);
        assert!(refusal(&server.url(), options).await.contains("prefix"));
    }
    for partitions in [0, 1_025] {
        let options = store_options().partitions(Some(partitions));
        assert!(refusal(&server.url(), options).await.contains("partitions"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_host_is_not_spoken_to_in_the_clear() {
    let url = "redis://orders:hunter2@redis.example.com:6379";
    let reason = refusal(url, store_options()).await;
    assert!(reason.contains("without TLS"), "{reason}");
    assert!(!reason.contains("hunter2"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_is_used_and_never_told() {
    let settings = ["--appendonly", "yes", "--appendfsync", "always"];
    let server = Server::with(&settings);
    server.command("CONFIG SET requirepass hunter2");
    let url = format!("redis://:hunter2@127.0.0.1:{}", server.port());
    let options = store_options();
    let provider = RedisProvider::open_with(&[&url], options.clone())
        .await
        .unwrap();
    assert!(!format!("{provider:?}").contains("hunter2"));
    for wrong in [
        "redis://:hunter3@",
        "redis://:hunter3 @",
        "rodis://:hunter3@",
    ] {
        let url = format!("{wrong}127.0.0.1:{}", server.port());
        let error = RedisProvider::open_with(&[&url], options.clone())
            .await
            .unwrap_err();
        for told in [error.to_string(), format!("{error:?}")] {
            assert!(!told.contains("hunter3"), "{told}");
        }
    }
}
