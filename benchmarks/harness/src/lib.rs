//! What every contender of the benchmarks shares: the programs, the workloads made of
//! them, the check of every output, and the clock.
//!
//! A contender is a binary that implements [`Contender`] for one engine and calls
//! [`main`]. It is run as
//!
//! ```text
//! <contender> --dir <folder> --settings <name> [--server <address>] <workload> <numbers…>
//! ```
//!
//! and prints one line of JSON, a [`Measured`], when everything has completed with the
//! right output; otherwise it says what is wrong and fails. Then it waits until its
//! standard input closes, so that the runner that started it can read its memory from outside.
//!
//! All workloads measure here, in one place, so that no contender is timed otherwise
//! than the others. Nothing here knows an engine.

mod command_line;
mod contender;
mod measured;
mod program;
mod workload;

pub use contender::{Contender, Problem, Setup, main, main_with, run};
pub use measured::Measured;
pub use program::{EVENT, Program, TIMER, add, child};
pub use workload::Workload;
