//! `cargo xtask bench sqlite`: what orchestrations cost on SQLite, as ratios against
//! the raw limit: rusqlite writing the same rows with the same settings in the same
//! run, in batches of 64 for throughput and one by one for latency.
//!
//! It prints and judges; it keeps no results. A ratio means something on a quiet
//! machine only: both sides wait for the same disk, and neighbours share it.

#[allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and is over when it fails"
)]
mod measure;
#[allow(clippy::unwrap_used, reason = "a benchmark is over when it fails")]
mod raw;
#[allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and is over when it fails"
)]
mod streams;
#[allow(clippy::unwrap_used, reason = "a benchmark is over when it fails")]
mod work;

fn main() -> std::io::Result<()> {
    // `cargo bench` passes `--bench`; a name runs one part.
    let arguments = std::env::args().skip(1);
    let wanted: Vec<String> = arguments.filter(|word| word != "--bench").collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut per_step = None;
        if is_wanted("throughput") {
            per_step = Some(measure::throughput().await);
        }
        if is_wanted("sequential") {
            measure::sequential().await;
        }
        if is_wanted("long") {
            measure::long().await;
        }
        if is_wanted("join") {
            measure::join(per_step).await;
        }
        if is_wanted("latency") {
            measure::latency().await;
        }
        if is_wanted("streams") {
            streams::streams().await;
        }
        if is_wanted("restart") {
            measure::restart().await;
        }
    });
    Ok(())
}
