//! One run of one contender: a process that is watched, bounded in time, and killed by
//! its handle. What it prints that is no measurement is passed over.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bench_harness::Measured;

use crate::error::Error;
use crate::memory;

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With a measurement; and the peak of the process's memory.
    Measured { measured: Measured, peak_mb: f64 },
    /// Not within its time.
    TimedOut,
    /// With an error; its last words.
    Failed { why: String },
}

/// What is run.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) binary: &'a Path,
    pub(crate) dir: &'a Path,
    pub(crate) settings: &'a str,
    pub(crate) server: Option<&'a str>,
    pub(crate) words: &'a [String],
    pub(crate) limit: Duration,
}

impl Run<'_> {
    /// Runs it. `at_the_line` is called when the measurement has been printed and the
    /// process is still there.
    pub(crate) fn perform(&self, at_the_line: impl FnOnce()) -> Result<Ended, Error> {
        let complaints = self.dir.join("stderr");
        let mut child = self.spawn(&complaints)?;
        let line = child.stdout.take().map(measurement);
        let line = line.and_then(|line| line.recv_timeout(self.limit).ok());
        let ended = match line {
            Some(Some(measured)) => {
                let peak_mb = memory::peak_mb(child.id()).unwrap_or_default();
                at_the_line();
                Ended::Measured { measured, peak_mb }
            }
            Some(None) => Ended::Failed {
                why: last_line(&complaints),
            },
            None => Ended::TimedOut,
        };
        // A process that was measured may hold instances half finished: it dies here.
        let _ = child.kill();
        let _ = child.wait();
        Ok(ended)
    }

    fn spawn(&self, complaints: &PathBuf) -> Result<Child, Error> {
        let stderr = File::create(complaints).map_err(|source| Error::file(complaints, source))?;
        let mut command = Command::new(self.binary);
        command.arg("--dir").arg(self.dir);
        command.args(["--settings", self.settings]);
        if let Some(server) = self.server {
            command.args(["--server", server]);
        }
        command
            .args(self.words)
            // What is put into the temporary folder must be on the same disk.
            .env("TMPDIR", self.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .map_err(|source| Error::program(self.binary.display(), source))
    }
}

/// The measurement that a process prints; nothing if it ends without one.
fn measurement(stdout: ChildStdout) -> mpsc::Receiver<Option<Measured>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(stdout).lines();
        let mut measured = lines
            .map_while(Result::ok)
            .filter_map(|line| serde_json::from_str(&line).ok());
        let _ = sender.send(measured.next());
    });
    receiver
}

fn last_line(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|mut file| file.read_to_string(&mut text));
    let line = text.lines().rfind(|line| !line.trim().is_empty());
    match (read, line) {
        (Ok(_), Some(line)) => line.trim().to_owned(),
        _ => "it ended without a word".to_owned(),
    }
}
