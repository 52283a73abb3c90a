//! `cargo xtask bench redis`: what orchestrations cost on a Redis server that syncs every
//! write, as ratios against the raw limit: the same scripts with arguments of the same size,
//! sent to the same server in the same run, in pipelines of 64 for throughput and one by one
//! for latency.
//!
//! It starts a `redis-server` of its own, prints and judges, and keeps no results. A ratio
//! means something on a quiet machine only: server, nodes and neighbours share the cores.

#[allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and is over when it fails"
)]
mod measure;
#[allow(clippy::unwrap_used, reason = "a benchmark is over when it fails")]
mod raw;
#[allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark is over when it fails, and does not use all of it"
)]
#[path = "../../tests/support/server.rs"]
mod server;
#[allow(clippy::unwrap_used, reason = "a benchmark is over when it fails")]
mod work;

fn main() -> std::io::Result<()> {
    // `cargo bench` passes `--bench`; a name runs one part.
    let arguments = std::env::args().skip(1);
    let wanted: Vec<String> = arguments.filter(|word| word != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    if let [word, url] = wanted.as_slice()
        && let Some(code) = work::Code::named(word)
    {
        runtime.block_on(work::run_node(url, code));
        return Ok(());
    }
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    runtime.block_on(async {
        if is_wanted("throughput") {
            measure::throughput().await;
        }
        if is_wanted("nodes") {
            measure::nodes().await;
        }
        if is_wanted("old-nodes") {
            measure::old_nodes().await;
        }
        if is_wanted("latency") {
            measure::latency().await;
        }
        if is_wanted("memory") {
            measure::memory().await;
        }
    });
    Ok(())
}
