//! Three node processes share 1,000 orchestrations; one of them is killed in the middle.
//!
//! `cargo run -p durable-examples --bin nodes` starts a `redis-server` of its own on a free
//! port; `… --bin nodes redis://127.0.0.1:6379` takes yours. It ends by itself.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use std::error::Error;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use durable_provider_redis::{RedisOptions, RedisProvider};
use durable_runtime::{
    Activity, ActivityContext, Client, Failure, Orchestration, OrchestrationContext, Registry,
    Runtime, RuntimeOptions,
};
use futures::future::try_join_all;
use tempfile::TempDir;

const ORDERS: u64 = 1_000;
/// What a dead node held is taken over after this.
const LEASE: Duration = Duration::from_secs(3);

const CHARGE: Activity<u64, u64> = Activity::new("charge");
const SHIP: Activity<u64, u64> = Activity::new("ship");
const ORDER: Orchestration<u64, u64> = Orchestration::new("order");

async fn order(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    let charged = ctx.activity(CHARGE, &number).await?;
    ctx.activity(SHIP, &charged).await
}

async fn work(_: ActivityContext, number: u64) -> Result<u64, Failure> {
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(number + 1)
}

fn options() -> RedisOptions {
    RedisOptions::default().prefix("nodes-example")
}

/// A node, until its process is killed.
async fn run_node(url: &str) -> Result<(), Box<dyn Error>> {
    let provider = RedisProvider::open_with(&[url], options()).await?;
    let registry = Registry::builder()
        .orchestration(ORDER, order)
        .activity(CHARGE, work)
        .activity(SHIP, work)
        .build()?;
    let options = RuntimeOptions::default().session_timeout(LEASE);
    let node = Runtime::builder(provider, registry).options(options);
    let _node = node.start().await?;
    std::future::pending().await
}

/// A child process that is killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn spawn_node(url: &str) -> Result<Process, Box<dyn Error>> {
    let mut node = Command::new(std::env::current_exe()?);
    node.args(["node", url]);
    Ok(Process(node.spawn()?))
}

/// A server of our own, and its folder.
async fn spawn_server() -> Result<(Process, TempDir, String), Box<dyn Error>> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let folder = tempfile::tempdir()?;
    let mut server = Command::new("redis-server");
    server
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
        ])
        .args(["--appendonly", "yes", "--appendfsync", "always", "--dir"])
        .arg(folder.path())
        .stdout(Stdio::null());
    let server = server.spawn().map_err(|error| {
        format!(
            "redis-server: {error}; install it (`apt-get install redis-server`), or give an address"
        )
    })?;
    let url = format!("redis://127.0.0.1:{port}");
    let server = Process(server);
    let began = Instant::now();
    while let Err(error) = RedisProvider::open_with(&[&url], options()).await {
        if began.elapsed() > Duration::from_secs(10) {
            return Err(error.into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok((server, folder, url))
}

async fn share_the_work(url: &str) -> Result<(), Box<dyn Error>> {
    let provider = RedisProvider::open_with(&[url], options()).await?;
    let client = Client::new(provider);
    let mut nodes = vec![spawn_node(url)?, spawn_node(url)?, spawn_node(url)?];
    let run = std::process::id();
    let began = Instant::now();
    let starts = (0..ORDERS).map(|number| {
        let start = client.start(ORDER, format!("order-{run}-{number}"), &number);
        start.into_future()
    });
    let orders = try_join_all(starts).await?;
    println!("{ORDERS} orders are started after {:?}", began.elapsed());
    for order in &orders[..300] {
        order.wait().await?;
    }
    nodes.pop();
    let killed = Instant::now();
    println!(
        "300 are done after {:?}; one node of three is killed",
        began.elapsed()
    );
    for (order, number) in orders.iter().zip(0..) {
        assert_eq!(order.wait().await?, number + 2);
    }
    println!(
        "all are done after {:?}, {:?} after the kill; a lease is {LEASE:?}",
        began.elapsed(),
        killed.elapsed()
    );
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["node", url] => run_node(url).await,
        [url] => share_the_work(url).await,
        _ => {
            let (_server, _folder, url) = spawn_server().await?;
            share_the_work(&url).await
        }
    }
}
