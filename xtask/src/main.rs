//! The project's own commands, run as `cargo xtask <command>`.
//!
//! This file only dispatches: each command is a module of its name. The commands
//! drive cargo and git; nothing here is part of the library.

mod bench;
mod ci;
mod cross_build;
mod error;
mod features;
mod fix;
mod help;
mod no_std;
mod process;
mod report;
mod setup;
mod sim;
mod tidy;
mod workspace;

use std::env;
use std::process::ExitCode;

use error::Error;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report::error(&error);
            error.exit_code()
        }
    }
}

fn dispatch(arguments: &[&str]) -> Result<(), Error> {
    match arguments {
        [] | ["help" | "--help" | "-h", ..] => help::run(),
        ["bench", rest @ ..] => bench::run(rest),
        ["ci", rest @ ..] => ci::run(rest),
        ["fix", rest @ ..] => fix::run(rest),
        ["no-std", rest @ ..] => no_std::run(rest),
        ["setup", rest @ ..] => setup::run(rest),
        ["sim", rest @ ..] => sim::run(rest),
        ["tidy", rest @ ..] => tidy::run(rest),
        [name, ..] => Err(Error::UnknownCommand {
            name: (*name).to_owned(),
        }),
    }
}
