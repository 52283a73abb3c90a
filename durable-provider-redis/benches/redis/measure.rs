//! The measurements, each with its judgement.

use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use durable_runtime::Client;
use futures::future::join_all;

use crate::raw::Raw;
use crate::server::{DURABLE, Server};
use crate::work::{Code, GATED, ONE, SEQUENCE, node, open};

const INSTANCES: u64 = 1_000;
const STEPS: u64 = 5;
const ROUNDS: u64 = 3;
const LIVE: u64 = 10_000;

fn judge(what: &str, value: f64, bound: &str, is_kept: bool) {
    let verdict = if is_kept { "kept" } else { "MISSED" };
    println!("{what:<58} {value:>9.3}   {bound:<12} {verdict}");
}

/// 1,000 orchestrations of 5 sequential activities.
pub(crate) async fn throughput() {
    let server = Server::start();
    let mut limit = Raw::open(&server.url()).await;
    let provider = open(&server.url()).await;
    let runtime = node(&provider).await;
    let (mut raw, mut ours) = (Duration::MAX, Duration::MAX);
    for round in 0..ROUNDS {
        raw = raw.min(limit.throughput(INSTANCES, STEPS).await);
        ours = ours.min(sequences(&runtime.client(), round).await);
    }
    runtime.shutdown(Duration::from_secs(5)).await;
    let turns = (INSTANCES * (STEPS + 1)) as f64;
    println!(
        "throughput: raw {:.0} turns/s, ours {:.0} turns/s (each its best of {ROUNDS})",
        turns / raw.as_secs_f64(),
        turns / ours.as_secs_f64()
    );
    let ratio = raw.as_secs_f64() / ours.as_secs_f64();
    judge(
        "1,000 x 5 activities: share of the raw rate",
        ratio,
        ">= 0.4",
        ratio >= 0.4,
    );
}

async fn sequences(client: &Client, round: u64) -> Duration {
    let began = Instant::now();
    let runs = (0..INSTANCES).map(|number| {
        let client = client.clone();
        async move {
            let start = client.start(SEQUENCE, format!("sequence-{round}-{number}"), &STEPS);
            let instance = start.await.unwrap();
            assert_eq!(instance.wait().await.unwrap(), STEPS);
        }
    });
    join_all(runs).await;
    began.elapsed()
}

/// A node process, killed when it is dropped.
struct NodeProcess(Child);

impl NodeProcess {
    fn spawn(url: &str, code: Code) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        Self(command.args([code.name(), url]).spawn().unwrap())
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How long the same takes by one node process and by these; the client is a process of its own.
async fn one_against(others: &[Code]) -> [Duration; 2] {
    let mut best = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (codes, best) in [&[Code::Current], others].into_iter().zip(&mut best) {
            let server = Server::start();
            let client = Client::new(Arc::new(open(&server.url()).await));
            let _nodes: Vec<NodeProcess> = codes
                .iter()
                .map(|code| NodeProcess::spawn(&server.url(), *code))
                .collect();
            // Their first orchestrations wake them up.
            sequences(&client, 0).await;
            *best = (*best).min(sequences(&client, 1).await);
        }
    }
    best
}

/// One node process beside three that have none of the code.
pub(crate) async fn old_nodes() {
    let best = one_against(&[Code::Current, Code::Old, Code::Old, Code::Old]).await;
    println!(
        "old nodes: alone {:?}, beside three {:?} (each its best of {ROUNDS})",
        best[0], best[1]
    );
    let ratio = best[1].as_secs_f64() / best[0].as_secs_f64();
    judge(
        "a node beside three without the code: time against alone",
        ratio,
        "<= 1.2",
        ratio <= 1.2,
    );
}

/// The same by one node process and by two.
pub(crate) async fn nodes() {
    let best = one_against(&[Code::Current, Code::Current]).await;
    println!(
        "nodes: one {:?}, two {:?} (each its best of {ROUNDS})",
        best[0], best[1]
    );
    let ratio = best[1].as_secs_f64() / best[0].as_secs_f64();
    judge(
        "two node processes: time against one",
        ratio,
        "<= 1.1",
        ratio <= 1.1,
    );
}

/// A one-activity orchestration on an idle system.
pub(crate) async fn latency() {
    const RUNS: u64 = 200;
    let server = Server::start();
    let mut raw = Raw::open(&server.url()).await;
    let provider = open(&server.url()).await;
    let runtime = node(&provider).await;
    let (mut ours, mut limits) = (Vec::new(), Vec::new());
    for number in 0..RUNS {
        let began = Instant::now();
        let start = runtime.client().start(ONE, format!("one-{number}"), &1);
        let instance = start.await.unwrap();
        assert_eq!(instance.wait().await.unwrap(), 2);
        ours.push(began.elapsed());
        limits.push(raw.orchestration(1, || {}).await);
    }
    runtime.shutdown(Duration::from_secs(5)).await;
    ours.sort();
    limits.sort();
    let middle = RUNS as usize / 2;
    println!(
        "latency: raw p50 {:?}, ours p50 {:?} p95 {:?}",
        limits[middle],
        ours[middle],
        ours[RUNS as usize * 95 / 100]
    );
    let ratio = ours[middle].as_secs_f64() / limits[middle].as_secs_f64();
    judge(
        "one activity on an idle system: against raw",
        ratio,
        "<= 3",
        ratio <= 3.0,
    );
}

/// What a live instance takes of the server's memory: one that ran an activity and waits.
/// Most of it is room that the server reserves for the next entries of the history.
pub(crate) async fn memory() {
    for reserved in ["4096", "512"] {
        let setting = ["--stream-node-max-bytes", reserved];
        let server = Server::with(&[DURABLE.as_slice(), &setting].concat());
        let each = memory_of_a_live_instance(&server).await;
        println!(
            "memory: {each:.0} bytes of the server for each of {LIVE} instances that wait \
             (stream-node-max-bytes {reserved})"
        );
    }
}

async fn memory_of_a_live_instance(server: &Server) -> f64 {
    let provider = open(&server.url()).await;
    let runtime = node(&provider).await;
    let client = runtime.client();
    let used = || -> f64 {
        let info = server.command("INFO memory");
        let mut lines = info.lines();
        let line = lines.find_map(|line| line.strip_prefix("used_memory:"));
        line.and_then(|number| number.trim().parse().ok())
            .unwrap_or(0.0)
    };
    let before = used();
    for first in (0..LIVE).step_by(500) {
        let halves = (first..first + 500).map(|number| {
            let client = client.clone();
            async move {
                let start = client.start(GATED, format!("gated-{number}"), &0);
                let instance = start.await.unwrap();
                // Started, scheduled, completed, subscribed: it waits for its event.
                while instance.record().await.unwrap().last_event_id.get() < 4 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        });
        join_all(halves).await;
    }
    runtime.shutdown(Duration::from_secs(5)).await;
    (used() - before) / LIVE as f64
}
