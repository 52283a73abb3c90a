//! Replies reach the callers on both paths, whatever becomes of the tokio runtime that asks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use durable_provider_sqlite::{ReplyPath, SqliteOptions, SqliteProvider};
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Runtime,
};
use tokio::runtime::Builder;

use crate::support::{COUNT, Place, audit, code, node};

/// Holds up a thread until it is told to go on.
const BLOCK: Activity<(), ()> = Activity::new("block");
const BLOCKING: Orchestration<(), ()> = Orchestration::new("blocking");

const PATHS: [ReplyPath; 2] = [ReplyPath::Direct, ReplyPath::IoDriver];

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

fn open(place: &Place, path: ReplyPath) -> SqliteProvider {
    let options = SqliteOptions::default().reply_path(path);
    SqliteProvider::open_with(place.file(), options).unwrap()
}

#[test]
fn a_runtime_goes_and_another_takes_over() {
    for path in PATHS {
        let place = Place::new();
        let provider = open(&place, path);
        for name in ["first", "second"] {
            let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(run_some(provider.clone(), name));
        }
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run_some(provider.clone(), "third"));
        runtime.block_on(audit(&provider));
    }
}

/// Counts the panics of threads with this name; the hook is asked as the program would.
fn count_panics(thread_name: &'static str) -> Arc<AtomicUsize> {
    let count = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&count);
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match std::thread::current().name() {
        Some(name) if name == thread_name => drop(counted.fetch_add(1, Ordering::Relaxed)),
        _ => others(panic),
    }));
    count
}

/// Runs orchestrations in a runtime without I/O; answers how often the panic hook was called.
fn panics_without_io(path: ReplyPath, thread_name: &'static str) -> usize {
    let place = Place::new();
    let provider = open(&place, path);
    let runtime = Builder::new_multi_thread()
        .thread_name(thread_name)
        .enable_time()
        .build()
        .unwrap();
    let panics = count_panics(thread_name);
    runtime.block_on(run_some(provider.clone(), "a"));
    runtime.block_on(audit(&provider));
    panics.load(Ordering::Relaxed)
}

#[test]
fn a_runtime_without_io_hears_of_no_panic_by_default() {
    let path = SqliteOptions::default().reply_path;
    assert_eq!(panics_without_io(path, "default-without-io"), 0);
}

#[cfg(unix)]
#[test]
fn replies_arrive_although_the_runtime_lacks_the_io_that_was_promised() {
    let path = ReplyPath::IoDriver;
    assert_eq!(panics_without_io(path, "promised-without-io"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_activity_that_blocks_its_thread_does_not_hold_up_other_instances() {
    for path in PATHS {
        block_one_of_two_threads(path).await;
    }
}

async fn block_one_of_two_threads(path: ReplyPath) {
    let place = Place::new();
    let provider = open(&place, path);
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
