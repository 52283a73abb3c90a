//! `cargo xtask bench`: the crates' own benchmarks, the same workloads on other engines,
//! and instruction counts.
//!
//! This file only tells them apart; each is a module of its name.

pub(crate) mod instructions;
mod micro;
mod peers;

use crate::error::Error;

/// The packages below `benchmarks/` that are built without any other engine, and so are
/// checked by `ci`.
pub(crate) const OWN: [&str; 5] = ["harness", "instructions", "ours", "raw", "runner"];

/// The packages below `benchmarks/` that are another engine each.
pub(crate) const PEERS: [&str; 4] = ["dbos", "duroxide", "durust", "restate"];

/// The manifest of a package below `benchmarks/`.
pub(crate) fn manifest(package: &str) -> String {
    format!("benchmarks/{package}/Cargo.toml")
}

/// Runs what the arguments select.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Error> {
    match arguments {
        ["peers", rest @ ..] => peers::run(rest),
        ["instructions", rest @ ..] => instructions::run(rest),
        rest => micro::run(rest),
    }
}
