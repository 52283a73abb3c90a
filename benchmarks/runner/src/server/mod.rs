//! The servers that some contenders need: found or installed, started afresh for every
//! run on this machine only, and stopped after it.

mod postgres;
mod redis;
mod restate;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::memory;

/// Which server, with which settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Postgres,
    RedisAlways,
    RedisEverySecond,
    Restate,
    RestateTuned,
}

/// A server that can be started.
#[derive(Debug, Clone)]
pub(crate) struct Installed {
    kind: Kind,
    /// The program, or the folder of the programs.
    path: PathBuf,
    /// For people.
    pub(crate) version: String,
}

/// A server that runs until it is stopped or dropped.
#[derive(Debug)]
pub(crate) struct Running {
    /// Where a contender reaches it.
    pub(crate) address: String,
    life: Life,
}

#[derive(Debug)]
enum Life {
    /// One process: its peak is known at its end.
    One(Child),
    /// Several processes, whose common peak has to be watched.
    Many { stop: postgres::Stop, watch: Watch },
}

impl Kind {
    /// Finds the server, or installs it.
    pub(crate) fn install(self, out: &Path) -> Result<Installed, Error> {
        let (path, version) = match self {
            Self::Postgres => postgres::install(out)?,
            Self::RedisAlways | Self::RedisEverySecond => redis::install()?,
            Self::Restate | Self::RestateTuned => restate::install(out)?,
        };
        Ok(Installed {
            kind: self,
            path,
            version,
        })
    }
}

impl Installed {
    /// Starts it with its files in this folder.
    pub(crate) fn start(&self, dir: &Path) -> Result<Running, Error> {
        match self.kind {
            Kind::Postgres => postgres::start(&self.path, dir),
            Kind::RedisAlways => redis::start(&self.path, dir, "always"),
            Kind::RedisEverySecond => redis::start(&self.path, dir, "everysec"),
            Kind::Restate => restate::start(&self.path, dir, false),
            Kind::RestateTuned => restate::start(&self.path, dir, true),
        }
    }
}

impl Running {
    /// The most memory that it has had so far, in MB.
    pub(crate) fn peak_mb(&self) -> f64 {
        match &self.life {
            Life::One(child) => memory::peak_mb(child.id()).unwrap_or_default(),
            Life::Many { watch, .. } => watch.peak_mb(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        match &mut self.life {
            Life::One(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Life::Many { stop, .. } => stop.stop(),
        }
    }
}

/// A thread that looks how much memory processes have together.
#[derive(Debug)]
struct Watch {
    is_over: Arc<AtomicBool>,
    peak_kb: Arc<std::sync::atomic::AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    fn new(root: u32) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let peak_kb = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let thread = thread::spawn({
            let (is_over, peak_kb) = (Arc::clone(&is_over), Arc::clone(&peak_kb));
            move || {
                while !is_over.load(Ordering::Relaxed) {
                    let now = memory::tree_mb(root).unwrap_or_default();
                    peak_kb.fetch_max((now * 1e3) as u64, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(250));
                }
            }
        });
        Self {
            is_over,
            peak_kb,
            thread: Some(thread),
        }
    }

    fn peak_mb(&self) -> f64 {
        self.peak_kb.load(Ordering::Relaxed) as f64 / 1e3
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A port that no process uses.
fn free_port() -> Result<u16, Error> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = port.map_err(|source| Error::program("a free port", source))?;
    Ok(port.port())
}

/// What a program says, if it can be run and succeeds.
fn answer(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// Runs a program to its end and shows nothing unless it fails.
fn perform(command: &mut Command) -> Result<(), Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::program(&name, source))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::program(
        &name,
        said.lines().last().unwrap_or("failed"),
    ))
}

/// Whether the packages of the system can be installed here.
fn apt_install(package: &str) -> bool {
    eprintln!("installing {package} (apt-get)");
    let install = ["install", "-y", "--no-install-recommends", package];
    perform(Command::new("apt-get").args(install)).is_ok()
}

/// Asks until the answer begins so, or the time is over.
fn await_answer(port: u16, question: &str, expected: &str, limit: Duration) -> Result<(), Error> {
    let began = Instant::now();
    while began.elapsed() < limit {
        if ask(port, question).is_some_and(|answer| answer.starts_with(expected)) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(Error::program("the server", "it does not answer"))
}

fn ask(port: u16, question: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    stream.write_all(question.as_bytes()).ok()?;
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).ok()?;
    Some(String::from_utf8_lossy(&answer[..length]).into_owned())
}
