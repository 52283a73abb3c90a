//! The measurements, each with its judgement.

use std::path::Path;
use std::time::{Duration, Instant};

use durable_provider_sqlite::{ReplyPath, SqliteOptions, SqliteProvider};
use durable_runtime::{Orchestration, Runtime};
use futures::future::join_all;
use tempfile::TempDir;

use crate::work::{FAN_OUT, GATED, GO, ONE, SEQUENCE, Stamps, node};

const INSTANCES: u64 = 1_000;
const STEPS: u64 = 5;
const LONG: u64 = 10_000;
const RESTARTED: u64 = 10_000;

pub(crate) fn judge(what: &str, value: f64, bound: &str, is_kept: bool) {
    let verdict = if is_kept { "kept" } else { "MISSED" };
    println!("{what:<58} {value:>9.3}   {bound:<12} {verdict}");
}

pub(crate) fn open(file: &Path, path: ReplyPath) -> SqliteProvider {
    let options = SqliteOptions::default().reply_path(path);
    SqliteProvider::open_with(file, options).unwrap()
}

/// 1,000 orchestrations of 5 sequential activities; answers the time of one step.
pub(crate) async fn throughput() -> Duration {
    let (mut raw, mut ours) = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        raw = raw.min(crate::raw::throughput(INSTANCES, STEPS));
        let (took, turns, transactions) = sequences().await;
        ours = ours.min(took);
        println!("throughput: {turns} turns in {transactions} transactions, {took:?}");
        let per_step = (turns - INSTANCES) as f64 / (INSTANCES * STEPS) as f64;
        judge(
            "durable commits per activity step",
            per_step,
            "<= 1.1",
            per_step <= 1.1,
        );
    }
    let ratio = raw.as_secs_f64() / ours.as_secs_f64();
    let turns = (INSTANCES * (STEPS + 1)) as f64;
    println!(
        "throughput: raw {:.0} turns/s, ours {:.0} turns/s (each its best of 3)",
        turns / raw.as_secs_f64(),
        turns / ours.as_secs_f64()
    );
    judge(
        "1,000 x 5 activities: share of the raw rate",
        ratio,
        ">= 0.5",
        ratio >= 0.5,
    );
    ours / (INSTANCES * STEPS) as u32
}

async fn sequences() -> (Duration, u64, u64) {
    let directory = tempfile::tempdir().unwrap();
    let provider = open(&directory.path().join("store.db"), ReplyPath::IoDriver);
    let runtime = node(&provider, Stamps::default()).await;
    let client = runtime.client();
    let before = provider.statistics();
    let began = Instant::now();
    let runs = (0..INSTANCES).map(|number| {
        let client = client.clone();
        async move {
            let start = client.start(SEQUENCE, format!("sequence-{number}"), &STEPS);
            let instance = start.await.unwrap();
            assert_eq!(instance.wait().await.unwrap(), STEPS);
        }
    });
    join_all(runs).await;
    let took = began.elapsed();
    let after = provider.statistics();
    runtime.shutdown(Duration::from_secs(5)).await;
    let turns = after.turns - before.turns;
    (took, turns, after.transactions - before.transactions)
}

/// A node on a file of its own, with replies on one of the paths.
struct OnPath {
    runtime: Runtime,
    took: Vec<Duration>,
    _directory: TempDir,
}

impl OnPath {
    async fn start(path: ReplyPath) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let provider = open(&directory.path().join("store.db"), path);
        Self {
            runtime: node(&provider, Stamps::default()).await,
            took: Vec::new(),
            _directory: directory,
        }
    }

    async fn run(&mut self, code: Orchestration<u64, u64>, id: String, input: u64, output: u64) {
        let began = Instant::now();
        let start = self.runtime.client().start(code, id, &input);
        assert_eq!(start.await.unwrap().wait().await.unwrap(), output);
        self.took.push(began.elapsed());
    }

    /// Stops the node; answers the times, sorted.
    async fn stop(mut self) -> Vec<Duration> {
        self.runtime.shutdown(Duration::from_secs(5)).await;
        self.took.sort();
        self.took
    }
}

/// One orchestration of sequential activities, against its raw commits.
pub(crate) async fn sequential() {
    const STEPS: u64 = 500;
    const ROUNDS: u64 = 5;
    let mut direct = OnPath::start(ReplyPath::Direct).await;
    let mut ours = OnPath::start(ReplyPath::IoDriver).await;
    let mut raw = crate::raw::OneByOne::open();
    let mut limits = Vec::new();
    for round in 0..ROUNDS {
        limits.push(raw.orchestration(STEPS as i64, || {}));
        for node in [&mut direct, &mut ours] {
            let id = format!("steps-{round}");
            node.run(SEQUENCE, id, STEPS, STEPS).await;
        }
    }
    let (direct, ours) = (direct.stop().await, ours.stop().await);
    limits.sort();
    let middle = ROUNDS as usize / 2;
    println!(
        "sequential: {STEPS} steps: raw {:?}, ours {:?}, with direct replies {:?} (medians of \
         {ROUNDS})",
        limits[middle], ours[middle], direct[middle]
    );
    let ratio = limits[middle].as_secs_f64() / ours[middle].as_secs_f64();
    judge(
        "sequential steps: share of raw commits one by one",
        ratio,
        ">= 0.7",
        ratio >= 0.7,
    );
}

/// One orchestration of 10,000 sequential activities.
pub(crate) async fn long() {
    let directory = tempfile::tempdir().unwrap();
    let provider = open(&directory.path().join("store.db"), ReplyPath::IoDriver);
    let stamps = Stamps::default();
    let runtime = node(&provider, stamps.clone()).await;
    let instance = runtime
        .client()
        .start(SEQUENCE, "long", &LONG)
        .await
        .unwrap();
    assert_eq!(instance.wait().await.unwrap(), LONG);
    runtime.shutdown(Duration::from_secs(5)).await;
    let stamps = stamps.take();
    let span = |from: usize, to: usize| stamps[to].duration_since(stamps[from]);
    // The best window of each end: a neighbour's burst is not ours.
    let best = |from: usize| {
        let windows = (from..from + 900).step_by(100).map(|at| span(at, at + 99));
        windows.min().unwrap_or_default()
    };
    let (first, last) = (best(0), best(LONG as usize - 1_000));
    println!(
        "long: first 1,000 in {:?}, last 1,000 in {:?}",
        span(0, 999),
        span(LONG as usize - 1_000, LONG as usize - 1)
    );
    let ratio = last.as_secs_f64() / first.as_secs_f64();
    judge(
        "10,000 steps: last against first 1,000",
        ratio,
        "<= 1.3",
        ratio <= 1.3,
    );
}

/// One orchestration that waits for 10,000 activities at once.
pub(crate) async fn join(per_step: Option<Duration>) {
    let per_step = match per_step {
        Some(per_step) => per_step,
        None => sequences().await.0 / (INSTANCES * STEPS) as u32,
    };
    let directory = tempfile::tempdir().unwrap();
    let provider = open(&directory.path().join("store.db"), ReplyPath::IoDriver);
    let runtime = node(&provider, Stamps::default()).await;
    let began = Instant::now();
    let instance = runtime
        .client()
        .start(FAN_OUT, "join", &LONG)
        .await
        .unwrap();
    assert_eq!(instance.wait().await.unwrap(), LONG);
    let took = began.elapsed();
    runtime.shutdown(Duration::from_secs(5)).await;
    println!("join: {LONG} activities in {took:?}; a step of the first workload {per_step:?}");
    let ratio = per_step.as_secs_f64() / (took.as_secs_f64() / LONG as f64);
    judge(
        "join over 10,000: share of the rate above",
        ratio,
        ">= 0.5",
        ratio >= 0.5,
    );
}

/// A one-activity orchestration on an idle system.
pub(crate) async fn latency() {
    const RUNS: u64 = 200;
    let mut direct = OnPath::start(ReplyPath::Direct).await;
    let mut ours = OnPath::start(ReplyPath::IoDriver).await;
    let mut raw = crate::raw::OneByOne::open();
    let mut limits = Vec::new();
    for number in 0..RUNS {
        for node in [&mut direct, &mut ours] {
            node.run(ONE, format!("one-{number}"), 1, 2).await;
        }
        limits.push(raw.orchestration(1, || {}));
    }
    let (direct, ours) = (direct.stop().await, ours.stop().await);
    limits.sort();
    let middle = RUNS as usize / 2;
    println!(
        "latency: raw p50 {:?}, ours p50 {:?} p95 {:?}, with direct replies p50 {:?}",
        limits[middle],
        ours[middle],
        ours[RUNS as usize * 95 / 100],
        direct[middle]
    );
    let ratio = ours[middle].as_secs_f64() / limits[middle].as_secs_f64();
    judge(
        "one activity on an idle system: against raw",
        ratio,
        "<= 2",
        ratio <= 2.0,
    );
}

/// 10,000 half-finished instances, and a new process.
pub(crate) async fn restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let provider = open(&path, ReplyPath::IoDriver);
    let runtime = node(&provider, Stamps::default()).await;
    let client = runtime.client();
    for first in (0..RESTARTED).step_by(500) {
        let halves = (first..first + 500).map(|number| {
            let client = client.clone();
            async move {
                let start = client.start(GATED, format!("gated-{number}"), &0);
                let instance = start.await.unwrap();
                // Started, scheduled, completed, subscribed: it waits for its event.
                while instance.record().await.unwrap().last_event_id.get() < 4 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        });
        join_all(halves).await;
    }
    drop((runtime, client));
    while provider.handles() > 1 {
        tokio::task::yield_now().await;
    }
    drop(provider);

    let began = Instant::now();
    let provider = open(&path, ReplyPath::IoDriver);
    let opened = began.elapsed();
    let runtime = node(&provider, Stamps::default()).await;
    let instance = runtime.client().instance(GATED, "gated-0");
    instance.raise(GO, &0).await.unwrap();
    let _: u64 = instance.wait().await.unwrap();
    let first = began.elapsed();
    let memory = crate::work::resident_mib();
    println!(
        "restart: opened after {opened:?}, one of {RESTARTED} finished after {first:?}, \
         {memory:.0} MiB resident"
    );
    let seconds = first.as_secs_f64();
    judge(
        "restart: seconds to the first finished instance",
        seconds,
        "<= 1",
        seconds <= 1.0,
    );
    runtime.shutdown(Duration::from_secs(5)).await;
}
