//! Runs the contenders of the benchmarks in turns, one at a time, and reports: a table
//! on standard output, a file for machines, and on demand the chart of the README.
//!
//! It is started by `cargo xtask bench peers` in the root of the repository. It
//! measures nothing itself but memory, from outside.

mod chart;
mod contender;
mod error;
mod machine;
mod memory;
mod options;
mod plan;
mod prepare;
mod process;
mod raw;
mod report;
mod rounds;
mod selection;
mod server;
mod statistics;
mod table;

use std::fs;
use std::process::ExitCode;

use error::Error;
use options::Options;
use report::Report;

const CHART: &str = "benchmarks/results.svg";
const TABLE: &str = "benchmarks/results.md";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    let options = Options::parse(std::env::args().skip(1))?;
    let selection = selection::select(&options)?;
    if options.list {
        println!("{selection}");
        return Ok(());
    }
    let prepared = prepare::prepare(&options, selection)?;
    let machine = machine::describe();
    let runs = rounds::run(&options, &prepared)?;
    let report = Report::new(&options, machine, &prepared, &runs);
    let text = table::render(&report);
    println!("\n{text}");
    let json = options.out.join("peers.json");
    save(&json, &serde_json::to_string_pretty(&report)?)?;
    println!("for machines: {}", json.display());
    if options.publish {
        save(CHART.as_ref(), &chart::render(&report))?;
        save(TABLE.as_ref(), &text)?;
        println!("published: {CHART}, {TABLE}");
    }
    report.verdict()
}

fn save(path: &std::path::Path, text: &str) -> Result<(), Error> {
    let write = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)
    };
    write().map_err(|source| Error::file(path, source))
}
