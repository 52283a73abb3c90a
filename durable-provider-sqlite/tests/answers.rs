//! Answers reach whoever asked, whatever becomes of the tokio runtime that asks.
#![cfg(test)]

#[allow(dead_code, reason = "not every test uses all of it")]
mod support;

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable_provider_sqlite::SqliteProvider;
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Runtime,
};
use tokio::runtime::Builder;

use support::{COUNT, Place, audit, code, node};

/// Holds up a thread until it is told to go on.
const BLOCK: Activity<(), ()> = Activity::new("block");
const BLOCKING: Orchestration<(), ()> = Orchestration::new("blocking");

/// How long a node may take to stop.
const BOUND: Duration = Duration::from_secs(60);

async fn blocking(ctx: OrchestrationContext, (): ()) -> Result<(), Failure> {
    ctx.activity(BLOCK, &()).await
}

/// Runs a few orchestrations on a node, in a task.
async fn run_some(provider: SqliteProvider, name: &'static str) {
    let task = tokio::spawn(async move {
        let node = node(&provider).await;
        count_some(&node, name).await;
        node.shutdown(BOUND).await;
    });
    task.await.unwrap();
}

async fn count_some(node: &Runtime, name: &str) {
    let client = node.client();
    for number in 0..20 {
        let handle = client.start(COUNT, format!("{name}-{number}"), &number);
        assert_eq!(handle.await.unwrap().wait().await.unwrap(), number + 3);
    }
}

#[test]
fn a_runtime_goes_and_another_takes_over() {
    let place = Place::new();
    let provider = place.open();
    for name in ["first", "second"] {
        let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(run_some(provider.clone(), name));
    }
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run_some(provider.clone(), "third"));
    runtime.block_on(audit(&provider));
}

#[test]
fn a_runtime_without_io_will_do() {
    let place = Place::new();
    let provider = place.open();
    let runtime = Builder::new_multi_thread().enable_time().build().unwrap();
    runtime.block_on(run_some(provider.clone(), "a"));
    runtime.block_on(audit(&provider));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_activity_that_blocks_its_thread_does_not_hold_up_other_instances() {
    let place = Place::new();
    let provider = place.open();
    let (begun, has_begun) = channel();
    let (go_on, may_go_on) = channel::<()>();
    let gate = Arc::new(Mutex::new((begun, may_go_on)));
    let block = move |_: ActivityContext, (): ()| {
        let gate = Arc::clone(&gate);
        async move {
            let (begun, may_go_on) = &*gate.lock().unwrap();
            begun.send(()).unwrap();
            may_go_on.recv().unwrap();
            Ok::<_, Failure>(())
        }
    };
    let registry = code()
        .activity(BLOCK, block)
        .orchestration(BLOCKING, blocking);
    let task = tokio::spawn(async move {
        let node = Runtime::builder(provider.clone(), registry.build().unwrap());
        let node = node.start().await.unwrap();
        let blocked = node.client().start(BLOCKING, "blocked", &()).await.unwrap();
        let began = tokio::task::spawn_blocking(move || has_begun.recv());
        began.await.unwrap().unwrap();
        count_some(&node, "free").await;
        go_on.send(()).unwrap();
        blocked.wait().await.unwrap();
        node.shutdown(BOUND).await;
        audit(&provider).await;
    });
    task.await.unwrap();
}
