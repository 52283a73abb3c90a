//! The replay tester: would this code go on with those histories?
//!
//! It runs recorded histories, from files or out of a store, against registered
//! code, executes no side effect, writes nothing, and says for each what would
//! happen. What a replay is stands in [`Replayer`](durable_runtime::Replayer).

mod file;
mod report;
mod tester;

pub use file::{
    HistoryFileError, export_histories, histories_to_json, read_histories, write_histories,
};
pub use report::{ReplayEntry, ReplayOutcome, ReplayReport, ReplaySource};
pub use tester::ReplayTester;
