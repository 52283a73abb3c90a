//! From the command line to an exit code: 0 is done, 1 is refused or failed, 2 is
//! what cannot be understood.

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::args::{Cli, Command, Global};
use crate::commands;
use crate::error::CliError;
use crate::output::Output;
use crate::store::{Missing, Store};

/// Runs the command that this process was called as.
#[must_use = "the process is to end with it"]
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::of(&cli.global);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let result = runtime
        .map_err(CliError::Output)
        .and_then(|runtime| runtime.block_on(execute(cli, output)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the pipe has closed it.
        Err(CliError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            output.error(&error);
            ExitCode::FAILURE
        }
    }
}

async fn execute(cli: Cli, output: Output) -> Result<(), CliError> {
    let Cli { global, command } = cli;
    if let Command::Completions { shell } = command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "durable", &mut script);
        return output.text(&String::from_utf8_lossy(&script));
    }
    let store = open(&global, missing(&command)).await?;
    match command {
        Command::List(list) => commands::list(&store, output, &list).await,
        Command::Show(instance) => commands::show(&store, output, &instance.id).await,
        Command::View(view) => commands::view(&store, output, &view).await,
        Command::Stream(stream) => commands::stream(&store, output, &stream).await,
        Command::History(history) => commands::history(&store, output, &history).await,
        Command::Timeline(timeline) => commands::timeline(&store, output, &timeline).await,
        Command::Start(start) => commands::start(&store, output, start).await,
        Command::Raise(raise) => commands::raise(&store, output, raise).await,
        Command::Resolve(resolve) => commands::resolve(&store, output, &resolve).await,
        Command::Reject(reject) => commands::reject(&store, output, reject).await,
        Command::Cancel(steer) => commands::cancel(&store, output, &steer).await,
        Command::Suspend(steer) => commands::suspend(&store, output, &steer).await,
        Command::Resume(targets) => commands::resume(&store, output, &targets).await,
        Command::Terminate(steer) => commands::terminate(&store, output, &steer).await,
        Command::Export(export) => commands::export(&store, output, &export).await,
        Command::Import(import) => commands::import(&store, output, &import).await,
        Command::Purge(purge) => commands::purge(&store, output, &purge).await,
        Command::Nodes => commands::nodes(&store, output).await,
        Command::Prune(prune) => commands::prune(&store, output, &prune).await,
        Command::Poisoned => commands::poisoned(&store, output).await,
        Command::Check => commands::check(&store, output).await,
        Command::Stats => commands::stats(&store, output).await,
        Command::Watch(watch) => commands::watch(&store, output, &watch).await,
        Command::Completions { .. } => Ok(()),
    }
}

fn missing(command: &Command) -> Missing {
    let is_created = match command {
        Command::Start(start) => start.create,
        Command::Import(import) => import.create,
        _ => false,
    };
    match is_created {
        true => Missing::IsCreated,
        false => Missing::IsAnError,
    }
}

async fn open(global: &Global, missing: Missing) -> Result<Store, CliError> {
    let location = global.store.as_ref().ok_or(CliError::NoStore)?;
    Store::open(location, missing).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }
}
