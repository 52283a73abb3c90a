//! The machine, in words: no names, no paths.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde::Serialize;

/// What the numbers depend on.
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) date: String,
    pub(crate) cores: usize,
    pub(crate) processor: String,
    pub(crate) memory_gb: u64,
    pub(crate) system: String,
    pub(crate) compiler: String,
    /// Of this repository.
    pub(crate) commit: String,
    /// How busy the machine was before the run began: others disturb what is measured.
    pub(crate) load: String,
}

pub(crate) fn describe() -> Machine {
    Machine {
        date: say("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        cores: thread::available_parallelism().map_or(1, usize::from),
        processor: field("/proc/cpuinfo", "model name"),
        memory_gb: field("/proc/meminfo", "MemTotal")
            .trim_end_matches(" kB")
            .parse()
            .map_or(0, |kib: u64| (kib as f64 * 1_024.0 / 1e9).round() as u64),
        system: say("uname", &["-sr"]),
        compiler: say("rustc", &["--version"]),
        commit: say("git", &["describe", "--always", "--dirty"]),
        load: fs::read_to_string("/proc/loadavg")
            .ok()
            .and_then(|text| text.split(' ').next().map(str::to_owned))
            .unwrap_or_default(),
    }
}

fn say(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_default()
}

/// The value of the first line `name : value`.
fn field(path: impl AsRef<Path>, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    });
    line.unwrap_or_default()
}
