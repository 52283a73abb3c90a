//! Activities that block every worker of a node: on each store the node keeps its session, and
//! each activity runs once.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use durable_core::provider::{Layer, Layered, Provider, ProviderError, SessionId, SessionOptions};
use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{
    Activity, ActivityContext, Client, Failure, Orchestration, OrchestrationContext, Registry,
    Runtime, RuntimeOptions,
};
use durable_testkit::MemoryProvider;

use support::server::{Server, store_options};

const BLOCK: Activity<u32, u32> = Activity::new("block");
const CALL: Orchestration<u32, u32> = Orchestration::new("call");

/// Only against a test that hangs.
const PATIENCE: Duration = Duration::from_secs(60);
const WORKERS: usize = 2;

/// What a node does, as the test hears of it.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Session,
    Heartbeat,
    Begun(u32),
}

/// Tells of sessions and heartbeats.
struct Telling {
    store: Arc<dyn Provider>,
    told: Sender<Seen>,
}

#[async_trait]
impl Layer for Telling {
    type Inner = Arc<dyn Provider>;

    fn inner(&self) -> &Arc<dyn Provider> {
        &self.store
    }

    async fn open_session(&self, options: SessionOptions) -> Result<SessionId, ProviderError> {
        self.told.send(Seen::Session).unwrap();
        self.store.open_session(options).await
    }

    async fn heartbeat(&self, session: SessionId) -> Result<(), ProviderError> {
        self.store.heartbeat(session).await?;
        // The test may be over.
        let _ = self.told.send(Seen::Heartbeat);
        Ok(())
    }
}

fn registry(told: Sender<Seen>, blocked: Receiver<()>) -> Registry {
    let blocked = Arc::new(Mutex::new(blocked));
    Registry::builder()
        .orchestration(CALL, |ctx: OrchestrationContext, number| async move {
            ctx.activity(BLOCK, &number).await
        })
        .activity(BLOCK, move |_: ActivityContext, number| {
            let (told, blocked) = (told.clone(), Arc::clone(&blocked));
            async move {
                told.send(Seen::Begun(number)).unwrap();
                // It blocks until the test drops the other end.
                let _ = blocked.lock().unwrap().recv();
                Ok::<u32, Failure>(number)
            }
        })
        .build()
        .unwrap()
}

/// Waits until so many of these were seen after each other, and gives what was seen.
fn until(seen: &Receiver<Seen>, count: usize, is_meant: impl Fn(&Seen) -> bool) -> Vec<Seen> {
    let mut all = Vec::new();
    while all.iter().filter(|one| is_meant(one)).count() < count {
        all.push(seen.recv_timeout(PATIENCE).expect("it comes"));
    }
    all
}

fn survives_blocking<P: Provider>(open: impl AsyncFnOnce() -> P) {
    let (told, seen) = channel();
    let (release, blocked) = channel();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let builder = builder.worker_threads(WORKERS).enable_all();
    let workers = builder.build().unwrap();
    let (node, calls) = workers.block_on(async {
        let store: Arc<dyn Provider> = Arc::new(open().await);
        // Before there is a node: what drives the connections of a store runs on these workers.
        let client = Client::new(Arc::clone(&store));
        let mut calls = Vec::new();
        for number in 0..4 {
            let call = client.start(CALL, format!("c-{number}"), &number);
            calls.push(call.await.unwrap());
        }
        let registry = registry(told.clone(), blocked);
        let node = Runtime::builder(Layered(Telling { store, told }), registry)
            .options(RuntimeOptions::default().session_timeout(Duration::from_millis(300)))
            .start()
            .await
            .unwrap();
        (node, calls)
    });
    let is_begun = |seen: &Seen| matches!(seen, Seen::Begun(_));
    let mut all = until(&seen, WORKERS, is_begun);
    // Four heartbeats come within the timeout of a session.
    all.extend(until(&seen, 12, |seen| *seen == Seen::Heartbeat));
    drop(release);
    workers.block_on(async {
        for (number, call) in (0..).zip(&calls) {
            assert_eq!(call.wait().await.unwrap(), number);
        }
        node.shutdown(PATIENCE).await;
    });
    all.extend(seen.try_iter());
    let sessions = all.iter().filter(|seen| **seen == Seen::Session).count();
    assert_eq!(sessions, 1, "no session was lost");
    let mut begun: Vec<u32> = all
        .iter()
        .filter_map(|seen| match seen {
            Seen::Begun(number) => Some(*number),
            Seen::Session | Seen::Heartbeat => None,
        })
        .collect();
    begun.sort_unstable();
    assert_eq!(begun, [0, 1, 2, 3], "each ran once");
}

#[test]
fn in_memory() {
    survives_blocking(async || MemoryProvider::new());
}

#[test]
fn on_sqlite() {
    let directory = tempfile::tempdir().unwrap();
    survives_blocking(async || SqliteProvider::open(directory.path().join("store.db")).unwrap());
}

#[test]
fn on_a_redis_server() {
    let server = Server::start();
    survives_blocking(async || server.open(store_options()).await);
}

#[test]
fn on_a_redis_server_with_partitions() {
    let server = Server::start();
    survives_blocking(async || server.open(store_options().partitions(Some(4))).await);
}
