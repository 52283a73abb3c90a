//! What a contender implements, and the `main` that it calls.

use std::error::Error;
use std::fmt::Display;
use std::future::Future;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use crate::command_line;
use crate::measured::Measured;
use crate::program::Program;
use crate::workload::Workload;

/// Why a run does not count.
pub type Problem = Box<dyn Error + Send + Sync>;

/// What a contender is started with.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// The folder for its files; the same one when a process goes on where another died.
    pub dir: PathBuf,
    /// Which of its settings to use.
    pub settings: String,
    /// Where its server is, if it has one.
    pub server: String,
}

/// One engine that runs the [`Program`]s.
pub trait Contender: Send + Sync + Sized + 'static {
    /// So many instances run, all at once, before anything is measured.
    const WARM_UP: u64 = 50;

    /// Opens the store, registers the programs, and runs what is unfinished.
    fn open(setup: &Setup) -> impl Future<Output = Result<Self, Problem>> + Send;

    /// Starts an instance; returns when the start is durable.
    fn start(
        &self,
        program: Program,
        id: &str,
        input: u64,
    ) -> impl Future<Output = Result<(), Problem>> + Send;

    /// Waits until an instance has completed; its output.
    fn wait(&self, program: Program, id: &str)
    -> impl Future<Output = Result<u64, Problem>> + Send;

    /// Sends an instance its event, with the number [`EVENT`](crate::EVENT).
    fn raise(&self, program: Program, id: &str)
    -> impl Future<Output = Result<(), Problem>> + Send;

    /// Starts an instance and waits for it: the way that has the lowest latency.
    fn call(
        &self,
        program: Program,
        id: &str,
        input: u64,
    ) -> impl Future<Output = Result<u64, Problem>> + Send {
        async move {
            self.start(program, id, input).await?;
            self.wait(program, id).await
        }
    }
}

/// Runs the workload of the command line on a contender.
#[must_use]
pub fn main<C: Contender>() -> ExitCode {
    let began = Instant::now();
    main_with(|setup, words| run::<C>(setup, words, began))
}

/// Does what the words of the command line say, and prints what was measured.
#[must_use]
pub fn main_with(measure: impl FnOnce(&Setup, &[&str]) -> Result<Measured, Problem>) -> ExitCode {
    let measured = command_line::parse(std::env::args().skip(1)).and_then(|(setup, words)| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        measure(&setup, &words)
    });
    match measured.and_then(|measured| tell(&measured)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            complain(&problem);
            ExitCode::FAILURE
        }
    }
}

/// Runs the workload of these words on a contender; `began` is when the process did.
///
/// # Errors
/// The words are no workload, or the run does not count.
pub fn run<C: Contender>(
    setup: &Setup,
    words: &[&str],
    began: Instant,
) -> Result<Measured, Problem> {
    let workload = Workload::parse(words)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let measured = runtime.block_on(async move {
        let contender = C::open(setup).await?;
        workload.measure(contender, began).await
    });
    // What a contender runs in the background need not end.
    std::mem::forget(runtime);
    measured
}

/// Prints the line and waits until the runner has read the memory of this process.
fn tell(measured: &Measured) -> Result<(), Problem> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(measured)?)?;
    out.flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn complain(problem: &impl Display) {
    let _ = writeln!(io::stderr(), "{problem}");
}
