//! Several processes on one file, one of which is killed in the middle.
//!
//! The others are this very test binary, told by its environment to be a node. The
//! parent has no node: it starts orchestrations, kills, and waits.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use durable_core::provider::InstanceStatus;
use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{Client, InstanceHandle};

use crate::support::{COUNT, Place, audit, child, node, records, say};

const FILE: &str = "DURABLE_SHARED_FILE";
const NODES: usize = 3;
const INSTANCES: u64 = 300;
/// How many have finished when a node is killed.
const BEFORE_KILL: u64 = 50;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_processes_share_a_file_and_one_is_killed() {
    let place = Place::new();
    let provider = place.open();
    let mut nodes: Vec<Child> = (0..NODES).map(|_| start_node(&place.file())).collect();
    let client = Client::new(provider.clone());
    let mut started = Vec::new();
    for number in 0..INSTANCES {
        let id = format!("count-{number:03}");
        started.push(client.start(COUNT, id, &number).await.unwrap());
    }
    let last = started.split_off(BEFORE_KILL as usize);
    finish(0, &started).await;
    let mut victim = nodes.remove(0);
    victim.kill().unwrap();
    victim.wait().unwrap();
    finish(BEFORE_KILL, &last).await;
    for mut node in nodes {
        // The end of its input tells a node to stop.
        drop(node.stdin.take());
        assert!(node.wait().unwrap().success());
    }
    let records = records(&provider).await;
    assert_eq!(records.len() as u64, INSTANCES);
    let completed = |status: &InstanceStatus| matches!(status, InstanceStatus::Completed { .. });
    assert!(records.iter().all(|record| completed(&record.status)));
    audit(&provider).await;
}

async fn finish(first: u64, handles: &[InstanceHandle<u64>]) {
    for (number, handle) in (first..).zip(handles) {
        assert_eq!(handle.wait().await.unwrap(), number + 3, "{}", handle.id());
    }
}

/// Starts a node in a process of its own, and waits until it is at work.
fn start_node(file: &Path) -> Child {
    let mut node = child("sharing::a_node_until_its_input_ends")
        .env(FILE, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(node.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(lines.any(|line| line == "at work"));
    std::thread::spawn(move || lines.for_each(drop));
    node
}

/// Not a test: what the other processes do. Without its environment it does nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_until_its_input_ends() {
    let Ok(file) = std::env::var(FILE) else {
        return;
    };
    let provider = SqliteProvider::open(file).unwrap();
    let runtime = node(&provider).await;
    say("\nat work");
    let input = tokio::task::spawn_blocking(|| std::io::stdin().lines().for_each(drop));
    input.await.unwrap();
    runtime.shutdown(Duration::from_secs(5)).await;
}
