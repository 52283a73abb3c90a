//! Real crashes: node processes and the server are killed with SIGKILL at random moments, in
//! turn. What a node was told before must be there afterwards, histories have no gaps, and
//! in the end every instance finishes.
//!
//! The nodes are this very test binary, which is told by its environment to be one. A node
//! writes a line for every acknowledgement it got.
//!
//! `DURABLE_CRASH_KILLS` sets the number of kills, `DURABLE_CRASH_SEED` the moments.
#![cfg(unix)]
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use durable_core::provider::{InstanceStatus, Provider, StatusKind};
use durable_core::{Event, InstanceId};
use durable_provider_redis::{RedisOptions, RedisProvider};
use tokio::sync::Semaphore;

use support::code::{GATED, GO, audit, history, node, records, try_node};
use support::server::Server;

const KILLS: u64 = 40;
const NODES: usize = 2;
/// How long what a dead node held stays out of reach.
const LEASE: Duration = Duration::from_secs(2);
const URL: &str = "DURABLE_CRASH_URL";
const RUN: &str = "DURABLE_CRASH_RUN";

/// What the nodes were told.
#[derive(Debug, Default)]
struct Acknowledged {
    started: Vec<InstanceId>,
    raised: Vec<InstanceId>,
    results: BTreeMap<InstanceId, String>,
}

impl Acknowledged {
    /// Reads a line; one without its end was torn, and its acknowledgement does not count.
    fn read(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["started", id, "."] => self.started.push((*id).into()),
            ["raised", id, "."] => self.raised.push((*id).into()),
            ["result", id, output, "."] => {
                self.results.insert((*id).into(), (*output).into());
            }
            // The test harness speaks too.
            _ => {}
        }
    }
}

/// A node process and what it says.
struct NodeProcess {
    child: Child,
    lines: JoinHandle<Vec<String>>,
}

impl NodeProcess {
    fn spawn(url: &str, run: u64, results: &Arc<AtomicU64>) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "a_node_that_works_until_it_is_killed",
                "--exact",
                "--nocapture",
            ])
            .env(URL, url)
            .env(RUN, run.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let results = Arc::clone(results);
        let count = move |line: &String| {
            if line.starts_with("result") {
                results.fetch_add(1, Ordering::Relaxed);
            }
        };
        let lines = lines.map_while(Result::ok).inspect(count);
        let lines = std::thread::spawn(move || lines.collect());
        Self { child, lines }
    }

    /// Kills it and takes what it was told.
    fn kill(mut self, acknowledged: &mut Acknowledged) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        for line in self.lines.join().unwrap() {
            acknowledged.read(&line);
        }
    }
}

#[test]
fn nothing_that_was_acknowledged_is_lost_when_nodes_and_server_are_killed() {
    kill_and_check(1);
}

#[test]
fn messages_between_partitions_survive_too() {
    kill_and_check(4);
}

fn kill_and_check(partitions: usize) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let kills = number("DURABLE_CRASH_KILLS").unwrap_or(KILLS);
    let mut random: u64 = number("DURABLE_CRASH_SEED").unwrap_or(0x5eed) | 1;
    let mut server = Server::start();
    let options = RedisOptions::default().partitions(Some(partitions));
    block_on(async { drop(server.open(options).await) });
    let mut acknowledged = Acknowledged::default();
    let results = Arc::new(AtomicU64::new(0));
    let mut run = 0;
    let mut spawn = |url: &str| {
        run += 1;
        NodeProcess::spawn(url, run, &results)
    };
    let mut nodes: Vec<NodeProcess> = (0..NODES).map(|_| spawn(&server.url())).collect();
    for kill in 0..kills {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Something got done since the last kill; then at any moment.
        wait_for_a_result(&results, results.load(Ordering::Relaxed));
        std::thread::sleep(Duration::from_micros(random % 200_000));
        match kill % 2 {
            0 => {
                let node = nodes.remove((random / 7) as usize % nodes.len());
                node.kill(&mut acknowledged);
                nodes.push(spawn(&server.url()));
            }
            _ => {
                server.kill();
                server.restart();
            }
        }
    }
    for node in nodes {
        node.kill(&mut acknowledged);
    }
    block_on(check_and_finish(&server, &acknowledged));
}

/// Waits until there are more results than these; bounded, as a node may need a lease to
/// pass before it gets anything done.
fn wait_for_a_result(results: &AtomicU64, known: u64) {
    let began = Instant::now();
    while results.load(Ordering::Relaxed) <= known {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "the nodes get nothing done"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn block_on(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future);
}

async fn check_and_finish(server: &Server, acknowledged: &Acknowledged) {
    let provider = server.open(RedisOptions::default()).await;
    audit(&provider).await;
    for id in &acknowledged.started {
        let record = provider.instance(id).await.unwrap();
        assert!(record.is_some(), "the start of {id}");
    }
    for (id, output) in &acknowledged.results {
        let record = provider.instance(id).await.unwrap().unwrap();
        let expected = InstanceStatus::Completed {
            output: output.as_str().into(),
        };
        assert_eq!(record.status, expected, "the result of {id}");
    }

    let began = Instant::now();
    let runtime = node(&provider, LEASE).await;
    let all = records(&provider).await;
    for record in all.iter().filter(|record| record.name == GATED.name()) {
        let instance = runtime.client().instance(GATED, record.instance.clone());
        if !acknowledged.raised.contains(&record.instance) {
            let go = format!("go-{}", record.instance);
            // It may have got it, and even ended, without its node being told.
            let _ = instance.raise_with_id(go, GO, &0).await;
        }
        assert_eq!(instance.wait().await.unwrap(), 5, "{}", record.instance);
    }
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
    runtime.shutdown(Duration::from_secs(5)).await;
    audit(&provider).await;
    for record in records(&provider).await {
        let id = &record.instance;
        assert_eq!(record.status.kind(), StatusKind::Completed, "{id}");
        let entries = history(&provider, id, record.execution_id).await;
        let count = |wanted: fn(&Event) -> bool| {
            entries.iter().filter(|entry| wanted(&entry.event)).count()
        };
        let counts = (
            count(|event| matches!(event, Event::ActivityScheduled { .. })),
            count(|event| matches!(event, Event::ActivityCompleted { .. })),
            count(|event| matches!(event, Event::ExternalEvent { .. })),
            count(|event| matches!(event, Event::SubOrchestrationCompleted { .. })),
        );
        let expected = match record.name == GATED.name() {
            true => (1, 1, 1, 1),
            false => (3, 3, 0, 0),
        };
        assert_eq!(counts, expected, "{id}");
    }
}

/// Not a test: what the nodes do. Without its environment it does nothing.
#[test]
fn a_node_that_works_until_it_is_killed() {
    let (Ok(url), Ok(run)) = (std::env::var(URL), std::env::var(RUN)) else {
        return;
    };
    block_on(async move {
        let provider = loop {
            match RedisProvider::open(&url).await {
                Ok(provider) => break provider,
                // The server may be away just now.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        let runtime = loop {
            match try_node(&provider, LEASE).await {
                Ok(runtime) => break runtime,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        work(&runtime.client(), &format!("i-{run}")).await;
    });
}

async fn work(client: &durable_runtime::Client, run: &str) {
    let at_once = Arc::new(Semaphore::new(8));
    for number in 0.. {
        let permit = Arc::clone(&at_once).acquire_owned().await.unwrap();
        let id = format!("{run}-{number}");
        let Ok(instance) = client.start(GATED, id.as_str(), &1).await else {
            continue;
        };
        say(&format!("started {id} ."));
        tokio::spawn(async move {
            let _permit = permit;
            while instance
                .raise_with_id(format!("go-{id}"), GO, &0)
                .await
                .is_err()
            {
                tokio::task::yield_now().await;
            }
            say(&format!("raised {id} ."));
            loop {
                if let Ok(output) = instance.wait().await {
                    say(&format!("result {id} {output} ."));
                    return;
                }
                tokio::task::yield_now().await;
            }
        });
    }
}

/// One line in one write.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}
