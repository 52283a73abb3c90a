//! How long the disk takes to promise that a page is there.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use bench_harness::{Measured, Problem};

const PAGE: [u8; 4_096] = [7; 4_096];

/// Appends pages to a file, each with a `fdatasync` after it.
pub(crate) fn measure(dir: &Path, count: u64) -> Result<Measured, Problem> {
    let mut file = File::create(dir.join("pages"))?;
    let mut times = Vec::new();
    for _ in 0..count {
        file.write_all(&PAGE)?;
        let began = Instant::now();
        file.sync_data()?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    Ok(Measured::new(
        format!("fdatasync {count}"),
        [("p50_ms", at(0.5)), ("p99_ms", at(0.99))],
    ))
}
