//! Whether the cost of a step grows: with the number of steps before it, or with the
//! width of a join. Real time, in-memory provider, one thread.
//!
//! Prints a table and fails when a bound is missed. It measures ratios of one
//! run to another on the same machine, not absolute speed.

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry, Runtime,
    RuntimeOptions,
};
use durable_testkit::MemoryProvider;

const NOTHING: Activity<u32, u32> = Activity::new("nothing");
const CHAIN: Orchestration<u32, u32> = Orchestration::new("chain");
const JOIN: Orchestration<u32, u32> = Orchestration::new("join");

/// How many sequential steps there are, and how many of them are compared.
const STEPS: u32 = 10_000;
const WINDOW: usize = 1_000;
/// The widths of the joins that are compared.
const NARROW: u32 = 1_000;
const WIDE: u32 = 10_000;
/// Each figure is the best of so many runs: others may use the machine too.
const RUNS: u32 = 20;

const CHAIN_BOUND: f64 = 1.3;
const JOIN_BOUND: f64 = 1.5;

type Times = Arc<Mutex<Vec<Instant>>>;

#[expect(clippy::print_stdout, reason = "the table is the point")]
fn main() -> ExitCode {
    // `cargo test` runs this too, without measuring anything.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else {
        println!("no tokio runtime could be built");
        return ExitCode::FAILURE;
    };
    let rows = [runtime.block_on(chain()), runtime.block_on(joins())];
    println!(
        "{:<42} {:>10} {:>10} {:>7} {:>7}",
        "per step", "small", "large", "ratio", "bound"
    );
    rows.iter().for_each(|row| println!("{row}"));
    match rows.iter().all(Row::is_kept) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Two costs per step, and how far apart they may be.
struct Row {
    what: &'static str,
    small: Duration,
    large: Duration,
    bound: f64,
}

impl Row {
    fn ratio(&self) -> f64 {
        self.large.as_secs_f64() / self.small.as_secs_f64()
    }

    fn is_kept(&self) -> bool {
        self.ratio() <= self.bound
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let us = |duration: Duration| format!("{:.1} µs", duration.as_secs_f64() * 1e6);
        write!(
            f,
            "{:<42} {:>10} {:>10} {:>7.2} {:>7.2} {}",
            self.what,
            us(self.small),
            us(self.large),
            self.ratio(),
            self.bound,
            if self.is_kept() { "" } else { "MISSED" }
        )
    }
}

fn registry(times: &Times) -> Registry {
    let times = Arc::clone(times);
    Registry::builder()
        .orchestration(CHAIN, |ctx: OrchestrationContext, steps| async move {
            for step in 0..steps {
                ctx.activity(NOTHING, &step).await?;
            }
            Ok::<_, Failure>(steps)
        })
        .orchestration(JOIN, |ctx: OrchestrationContext, width| async move {
            let calls = (0..width).map(|n| ctx.activity(NOTHING, &n));
            let done = futures::future::try_join_all(calls).await?;
            Ok::<_, Failure>(u32::try_from(done.len()).unwrap_or(u32::MAX))
        })
        .activity(NOTHING, move |_: ActivityContext, n| {
            if let Ok(mut times) = times.lock() {
                times.push(Instant::now());
            }
            async move { Ok::<_, Failure>(n) }
        })
        .build()
        .unwrap_or_default()
}

/// Runs one instance on a fresh store; when each activity ran, and how long it took.
async fn run(orchestration: Orchestration<u32, u32>, input: u32) -> (Vec<Instant>, Duration) {
    let times = Times::default();
    let options = RuntimeOptions::default().verify_replay(false);
    let began = Instant::now();
    let ran = async {
        let node = Runtime::builder(MemoryProvider::new(), registry(&times))
            .options(options)
            .start()
            .await
            .ok()?;
        let instance = node
            .client()
            .start(orchestration, "bench", &input)
            .await
            .ok()?;
        instance.wait().await.ok()?;
        let took = began.elapsed();
        node.shutdown(Duration::from_secs(1)).await;
        Some(took)
    };
    let took = ran.await.unwrap_or(Duration::MAX);
    let times = std::mem::take(
        &mut *times
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
    );
    (times, took)
}

/// The cost of one of the first and of one of the last steps.
async fn chain() -> Row {
    let (mut first, mut last) = (Duration::MAX, Duration::MAX);
    for _ in 0..RUNS {
        let (times, _) = run(CHAIN, STEPS).await;
        let window = |steps: &[Instant]| steps[WINDOW - 1].duration_since(steps[0]);
        first = first.min(window(&times[..WINDOW]));
        last = last.min(window(&times[times.len() - WINDOW..]));
    }
    let steps = u32::try_from(WINDOW).unwrap_or(u32::MAX);
    Row {
        what: "sequential steps: first and last 1,000",
        small: first / steps,
        large: last / steps,
        bound: CHAIN_BOUND,
    }
}

/// The cost of one activity of a narrow and of a wide join.
async fn joins() -> Row {
    let (mut narrow, mut wide) = (Duration::MAX, Duration::MAX);
    for _ in 0..RUNS {
        narrow = narrow.min(run(JOIN, NARROW).await.1);
        wide = wide.min(run(JOIN, WIDE).await.1);
    }
    Row {
        what: "join: 1,000 and 10,000 activities",
        small: narrow / NARROW,
        large: wide / WIDE,
        bound: JOIN_BOUND,
    }
}
