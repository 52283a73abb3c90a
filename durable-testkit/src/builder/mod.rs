//! Histories in a few lines: what tests, examples and the replay tester start from.
//!
//! The builder gives positions and times; what stands in a history is up to its
//! caller. Whether a history can be is asked at the end, of
//! [`History::validate`](durable_core::History::validate).

mod command;
mod history;
mod input;

pub use history::{HistoryBuildError, HistoryBuilder};
