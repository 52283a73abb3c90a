//! Histories that one build recorded, replayed by another: `cross_build record DIR` with
//! the one, `cross_build replay DIR` with the other.
//!
//! It has no shapes of its own, and those that memory decides in are left out: they need
//! not replay in another build.

mod shapes;

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use durable_testkit::{ReplayTester, TestEnvironment, export_histories, write_histories};

use shapes::{Case, First, GO, SHAPE};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["record", folder] => record(Path::new(folder)),
        ["replay", folder] => replay(Path::new(folder)),
        _ => Err("usage: cross_build (record | replay) DIR".into()),
    }
}

/// The cases that replay in every build, and their files.
fn cases(folder: &Path) -> impl Iterator<Item = (Case, PathBuf)> {
    let cases = Case::all().filter(|case| case.replays_in_every_build());
    cases.map(move |case| (case, folder.join(case.name()).with_extension("json")))
}

/// Runs each case, and writes its history into the folder.
fn record(folder: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let environment = TestEnvironment::builder(shapes::registry()?);
    environment.run(async |env| -> Result<(), Box<dyn Error>> {
        for (case, file) in cases(folder) {
            let instance = env.start(SHAPE, case.name(), &case).await?;
            if case.first == First::Event {
                instance.raise(GO, &1).await?;
                instance.raise(GO, &2).await?;
            }
            env.wait(&instance).await?;
            let histories = export_histories(env.store(), instance.id()).await?;
            write_histories(file, &histories)?;
        }
        Ok(())
    })
}

/// Replays the history of each case.
fn replay(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut tester = ReplayTester::new(shapes::registry()?);
    for (_, file) in cases(folder) {
        tester = tester.file(file);
    }
    let report = tester.run();
    if !report.is_ok() {
        return Err(format!("a history of another build does not replay\n{report}").into());
    }
    let count = report.replays.len();
    writeln!(std::io::stdout(), "{count} histories replayed")?;
    Ok(())
}
