//! Three node processes share 1,000 orchestrations; one of them is killed in the middle, and
//! what it held is taken over when its lease is over.
//!
//! The nodes are this very test binary, which is told by its environment to be one.
#![cfg(unix)]
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use durable_core::provider::StatusKind;
use durable_provider_redis::{RedisOptions, RedisProvider};
use durable_runtime::Client;
use futures::future::try_join_all;

use support::cluster::Cluster;
use support::code::{PARENT, audit, node, records};
use support::server::Server;

const INSTANCES: u64 = 1_000;
const LEASE: Duration = Duration::from_secs(2);
/// Far more than the rest of the work takes: only a lost instance takes longer.
const SLACK: Duration = Duration::from_secs(60);
const URLS: &str = "DURABLE_NODE_URLS";

/// A node process, killed when it is dropped.
struct NodeProcess(Child);

impl NodeProcess {
    fn spawn(urls: &[String]) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["a_node_until_it_is_killed", "--exact", "--nocapture"])
            .env(URLS, urls.join(" "))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_on_a_server_finish_what_one_of_them_leaves() {
    let server = Server::start();
    share_and_kill(&[server.url()]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_on_a_cluster_finish_what_one_of_them_leaves() {
    let cluster = Cluster::start(3);
    share_and_kill(&cluster.urls()).await;
}

async fn share_and_kill(urls: &[String]) {
    let provider = open(urls).await;
    let client = Client::new(Arc::new(provider.clone()));
    let mut nodes: Vec<NodeProcess> = (0..3).map(|_| NodeProcess::spawn(urls)).collect();
    let starts = (0..INSTANCES).map(|number| {
        let start = client.start(PARENT, format!("i-{number}"), &number);
        start.into_future()
    });
    let instances = try_join_all(starts).await.unwrap();
    for instance in &instances[..300] {
        instance.wait().await.unwrap();
    }
    nodes.pop();
    let killed = Instant::now();
    for (instance, number) in instances.iter().zip(0..) {
        assert_eq!(instance.wait().await.unwrap(), number + 3);
    }
    let took = killed.elapsed();
    assert!(took < LEASE + SLACK, "{took:?}");
    drop(nodes);
    let records = records(&provider).await;
    assert_eq!(records.len() as u64, 2 * INSTANCES, "each with its child");
    let is_done = |kind| kind == StatusKind::Completed;
    assert!(records.iter().all(|record| is_done(record.status.kind())));
    audit(&provider).await;
}

async fn open(urls: &[String]) -> RedisProvider {
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    RedisProvider::open_with(&urls, RedisOptions::default())
        .await
        .unwrap()
}

/// Not a test: what the nodes do. Without its environment it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_until_it_is_killed() {
    let Ok(urls) = std::env::var(URLS) else {
        return;
    };
    let urls: Vec<String> = urls.split(' ').map(str::to_owned).collect();
    let provider = open(&urls).await;
    let _node = node(&provider, LEASE).await;
    std::future::pending::<()>().await;
}
