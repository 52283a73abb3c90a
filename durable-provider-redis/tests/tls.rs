//! TLS: whom a client trusts, who it says it is, and that all connections speak it: those of
//! calls and those of wake-ups, to a server and to a cluster.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::time::{Duration, Instant};

use durable_core::provider::{Provider, ProviderError};
use durable_provider_redis::{RedisIdentity, RedisOptions, RedisProvider, RedisTls};
use durable_runtime::Client;
use support::cluster::Cluster;
use support::code::{GATED, GO, audit, node, records};
use support::log::Log;
use support::server::store_options;
use support::tls::{Authority, Clients};

const PASSWORD: &str = "hunter2-and-more";

/// Wake-ups that are not heard would take longer than any test.
fn options(tls: RedisTls) -> RedisOptions {
    store_options()
        .tls(tls)
        .poll_interval(Duration::from_secs(3_600))
}

async fn refusal(url: &str, tls: RedisTls) -> String {
    match RedisProvider::open_with(&[url], options(tls)).await {
        Err(ProviderError::Unusable { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

/// An orchestration with an activity, a message from another handle on the store, a child and
/// waits that only a wake-up ends.
async fn works_together(worker: &RedisProvider, other: RedisProvider) {
    let runtime = node(worker, Duration::from_secs(600)).await;
    let client = Client::new(std::sync::Arc::new(other));
    for number in 0..5_u64 {
        let start = client.start(GATED, format!("i-{number}"), &number);
        let instance = start.await.unwrap();
        instance.raise(GO, &0).await.unwrap();
        assert_eq!(instance.wait().await.unwrap(), number + 4);
    }
    runtime.shutdown(Duration::from_secs(5)).await;
    assert_eq!(records(worker).await.len(), 10);
    audit(worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_server_is_worked_with_by_a_user_with_a_password() {
    let authority = Authority::new();
    let server = authority.server(Clients::WithoutCertificate);
    let rights = format!("ACL SETUSER orders on >{PASSWORD} ~* &* +@all");
    server.server.command(&rights);
    server.server.command("ACL SETUSER default off");
    let url = server.url(&format!("orders:{PASSWORD}@"));
    let options = options(authority.trusted());
    let urls = [url.as_str()];
    let open = || RedisProvider::open_with(&urls, options.clone());
    works_together(&open().await.unwrap(), open().await.unwrap()).await;
    let wrong = server.url("orders:wrong@");
    let told = refusal(&wrong, authority.trusted()).await;
    assert!(
        told.contains("WRONGPASS") || told.contains("authentication"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_who_is_there_is_told() {
    let authority = Authority::new();
    let server = authority.server(Clients::WithCertificate);
    let options = options(authority.trusted_by("orders"));
    let url = server.url("");
    let urls = [url.as_str()];
    let open = || RedisProvider::open_with(&urls, options.clone());
    works_together(&open().await.unwrap(), open().await.unwrap()).await;

    let told = refusal(&url, authority.trusted()).await;
    assert!(told.contains("CertificateRequired"), "{told}");
    let stranger = RedisTls {
        identity: Some(Authority::new().issue("orders")),
        ..authority.trusted()
    };
    let told = refusal(&url, stranger).await;
    assert!(told.contains("received fatal alert"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_an_unknown_authority_is_refused() {
    let authority = Authority::new();
    let server = authority.server(Clients::WithoutCertificate);
    let url = server.url("");
    for (tls, expected) in [
        (RedisTls::default(), "UnknownIssuer"),
        (Authority::new().trusted(), "invalid peer certificate"),
    ] {
        let told = refusal(&url, tls).await;
        assert!(told.starts_with("TLS: "), "{told}");
        assert!(told.contains(expected), "{told}");
    }
    let other_name = format!("rediss://localhost:{}", server.tls_port);
    let told = refusal(&other_name, authority.trusted()).await;
    assert!(told.contains("not valid for name \"localhost\""), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_that_are_none_are_refused_before_a_server_is_spoken_to() {
    let authority = Authority::new();
    let url = "rediss://127.0.0.1:1";
    let no_roots = RedisTls {
        roots: Some(b"nothing".to_vec()),
        identity: None,
    };
    let told = refusal(url, no_roots).await;
    assert_eq!(
        told,
        "the TLS roots cannot be read: they have no PEM certificate"
    );
    let no_key = RedisTls {
        identity: Some(RedisIdentity {
            key: b"nothing".to_vec(),
            ..authority.issue("orders")
        }),
        ..authority.trusted()
    };
    let told = refusal(url, no_key).await;
    assert!(told.starts_with("`tls` cannot be used: "), "{told}");
    let told = refusal("redis://127.0.0.1:1", authority.trusted()).await;
    assert!(told.contains("use rediss://"), "{told}");
}

/// While a node is at work, its server goes and comes back.
#[tokio::test(flavor = "multi_thread")]
async fn passwords_and_keys_are_in_no_log_and_in_no_debug_output() {
    let log = Log::of_the_process();
    let authority = Authority::new();
    let mut server = authority.server(Clients::WithCertificate);
    let tls = authority.trusted_by("orders");
    let url = server.url(&format!(":{PASSWORD}@"));
    server
        .server
        .command(&format!("CONFIG SET requirepass {PASSWORD}"));
    let options = options(tls.clone()).response_timeout(Duration::from_secs(2));
    let provider = RedisProvider::open_with(&[&url], options.clone())
        .await
        .unwrap();
    let runtime = node(&provider, Duration::from_secs(600)).await;
    server.server.kill();
    let began = Instant::now();
    let error = loop {
        let (Err(error), true) = (
            provider.fire_timers(1).await,
            log.text().contains("wake-ups cannot be heard"),
        ) else {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "nothing is logged"
            );
            continue;
        };
        break error;
    };
    // The password was set in the server's memory, and is gone with it.
    server.server.restart();
    let refused = RedisProvider::open_with(&[&url], options.clone()).await;
    runtime.shutdown(Duration::from_secs(1)).await;
    let key = String::from_utf8(tls.identity.unwrap().key).unwrap();
    let key_line = key.lines().nth(1).unwrap();
    for told in [
        log.text(),
        format!("{error} {error:?}"),
        format!("{refused:?}"),
        format!("{options:?} {provider:?}"),
    ] {
        assert!(!told.contains(PASSWORD), "{told}");
        assert!(!told.contains(key_line), "{told}");
    }
    assert!(format!("{options:?}").contains("RedisIdentity { .. }"));
}

#[tokio::test(flavor = "multi_thread")]
async fn all_nodes_of_a_cluster_are_spoken_to_with_tls() {
    let authority = Authority::new();
    let cluster = Cluster::start_with_tls(3, &authority);
    let options = options(authority.trusted_by("orders"));
    let other = cluster.open(options.clone()).await;
    works_together(&cluster.open(options).await, other).await;
}
