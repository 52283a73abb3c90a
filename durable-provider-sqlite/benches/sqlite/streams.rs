//! Streams beside orchestrations that run: 10,000 chunks a second through one store.

use std::time::{Duration, Instant};

use durable_provider_sqlite::{ReplyPath, SqliteProvider};
use durable_runtime::{
    Activity, ActivityContext, Client, EventStream, Failure, Orchestration, OrchestrationContext,
    Registry, Runtime, RuntimeOptions,
};

use crate::measure::{judge, open};

/// One activity that emits for this many seconds.
const SPEAK: Orchestration<u64, u64> = Orchestration::new("speak");
const EMIT: Activity<u64, u64> = Activity::new("emit");
const ONE: Orchestration<u64, u64> = Orchestration::new("one");
const ADD: Activity<u64, u64> = Activity::new("add");
const CHUNKS: EventStream<String> = EventStream::new("chunks");

/// Chunks a second, of all speakers together.
const RATE: u64 = 10_000;
const SPEAKERS: u64 = 10;
const SECONDS: u64 = 5;
/// How often a speaker emits what is due.
const TICK: Duration = Duration::from_millis(10);

/// Emits its share of the rate for so many seconds; answers how many chunks it emitted.
async fn emit(ctx: ActivityContext, seconds: u64) -> Result<u64, Failure> {
    let chunk = "x".repeat(100);
    let began = Instant::now();
    let share = RATE / SPEAKERS;
    let mut emitted = 0;
    while emitted < share * seconds {
        let due = (began.elapsed().as_secs_f64() * share as f64) as u64;
        while emitted < due.min(share * seconds) {
            ctx.emit(CHUNKS, &chunk).await?;
            emitted += 1;
        }
        tokio::time::sleep(TICK).await;
    }
    Ok(emitted)
}

async fn node(provider: &SqliteProvider) -> Runtime {
    let registry =
        Registry::builder()
            .activity(EMIT, emit)
            .activity(ADD, |_: ActivityContext, number: u64| async move {
                Ok::<u64, Failure>(number + 1)
            })
            .orchestration(
                SPEAK,
                |ctx: OrchestrationContext, seconds: u64| async move {
                    ctx.activity(EMIT, &seconds).await
                },
            )
            .orchestration(ONE, |ctx: OrchestrationContext, number: u64| async move {
                ctx.activity(ADD, &number).await
            })
            .build()
            .unwrap();
    let options = RuntimeOptions::default().session_timeout(Duration::from_secs(3_600));
    Runtime::builder(provider.clone(), registry)
        .options(options)
        .start()
        .await
        .unwrap()
}

/// The latencies of one-activity orchestrations, one every 10 ms, sorted.
async fn latencies(client: &Client, prefix: &str, until: Instant) -> Vec<Duration> {
    let mut runs = Vec::new();
    let mut number = 0;
    while Instant::now() < until {
        let (client, id) = (client.clone(), format!("{prefix}-{number}"));
        runs.push(tokio::spawn(async move {
            let began = Instant::now();
            let instance = client.start(ONE, id, &1).await.unwrap();
            assert_eq!(instance.wait().await.unwrap(), 2);
            began.elapsed()
        }));
        number += 1;
        tokio::time::sleep(TICK).await;
    }
    let mut took = Vec::new();
    for run in runs {
        took.push(run.await.unwrap());
    }
    took.sort();
    took
}

/// Orchestrations alone, and beside speakers that emit 10,000 chunks a second.
pub(crate) async fn streams() {
    let directory = tempfile::tempdir().unwrap();
    let provider = open(&directory.path().join("store.db"), ReplyPath::IoDriver);
    let runtime = node(&provider).await;
    let client = runtime.client();
    let window = Duration::from_secs(SECONDS);
    let alone = latencies(&client, "alone", Instant::now() + window).await;
    let began = Instant::now();
    let mut speakers = Vec::new();
    for number in 0..SPEAKERS {
        let start = client.start(SPEAK, format!("speaker-{number}"), &SECONDS);
        speakers.push(start.await.unwrap());
    }
    let beside = latencies(&client, "beside", began + window).await;
    let mut chunks = 0;
    for speaker in speakers {
        let emitted = speaker.wait().await.unwrap();
        let stored = speaker.streams().await.unwrap();
        assert_eq!(stored[0].1.end, emitted, "all of them are there");
        chunks += emitted;
    }
    let rate = chunks as f64 / began.elapsed().as_secs_f64();
    runtime.shutdown(Duration::from_secs(5)).await;
    let middle = |sorted: &[Duration]| sorted[sorted.len() / 2];
    let (alone, beside) = (middle(&alone), middle(&beside));
    println!(
        "streams: {chunks} chunks of 100 B, one activity p50 alone {alone:?}, beside {beside:?}"
    );
    judge(
        "chunks a second through one store",
        rate,
        ">= 9,000",
        rate >= 9_000.0,
    );
    let ratio = beside.as_secs_f64() / alone.as_secs_f64();
    judge(
        "one activity beside 10,000 chunks a second: against alone",
        ratio,
        "<= 2",
        ratio <= 2.0,
    );
}
