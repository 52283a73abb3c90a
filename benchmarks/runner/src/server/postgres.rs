//! Postgres: a cluster of its own in a folder of its own.
//!
//! Postgres refuses to run as root; then it runs as the user `postgres`, which the
//! package of the system creates.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Life, Running, Watch};
use crate::error::Error;

const USER: &str = "postgres";
const PACKAGE: &str = "postgresql-15";
/// Where the packages of Debian put what is not on the path.
const BINARIES: &str = "/usr/lib/postgresql/15/bin";

/// How a cluster is stopped.
#[derive(Debug)]
pub(super) struct Stop {
    binaries: PathBuf,
    data: PathBuf,
    /// The server, or the program that changed the user for it.
    child: Child,
}

pub(super) fn install(_: &Path) -> Result<(PathBuf, String), Error> {
    let found = || {
        let configured = super::answer("pg_config".as_ref(), &["--bindir"]).map(PathBuf::from);
        let candidates = [Some(PathBuf::from(BINARIES)), configured];
        candidates.into_iter().flatten().find_map(|folder| {
            let version = super::answer(&folder.join("postgres"), &["--version"])?;
            folder.join("pg_ctl").is_file().then_some((folder, version))
        })
    };
    let found = found().or_else(|| {
        super::apt_install(PACKAGE);
        found()
    });
    let Some((folder, version)) = found else {
        let hint = format!("to get it: apt-get install {PACKAGE}");
        return Err(Error::Missing {
            what: "Postgres",
            hint,
        });
    };
    let number = version.split_whitespace().nth(2).unwrap_or("?");
    Ok((folder, format!("Postgres {number}")))
}

pub(super) fn start(binaries: &Path, dir: &Path) -> Result<Running, Error> {
    let home = home(dir)?;
    let data = home.join("data");
    let port = super::free_port()?.to_string();
    let mut initdb = as_user(&binaries.join("initdb"));
    initdb.args(["--auth=trust", "--username=bench", "--no-locale"]);
    super::perform(initdb.arg("--encoding=UTF8").arg("-D").arg(&data))?;
    let log = home.join("log");
    let output = File::create(&log).map_err(|source| Error::file(&log, source))?;
    let child = as_user(&binaries.join("postgres"))
        .args(["-p", &port, "-c", "listen_addresses=127.0.0.1"])
        .args([
            "-c",
            "unix_socket_directories=",
            "-c",
            "max_connections=120",
        ])
        .args(["-c", "fsync=on", "-c", "synchronous_commit=on", "-D"])
        .arg(&data)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output)
        .spawn()
        .map_err(|source| Error::program("postgres", source))?;
    let binaries = binaries.to_owned();
    let mut stop = Stop {
        binaries,
        data,
        child,
    };
    match stop.await_readiness(&port) {
        Ok(pid) => Ok(Running {
            address: format!("postgres://bench@127.0.0.1:{port}/bench"),
            life: Life::Many {
                stop,
                watch: Watch::new(pid),
            },
        }),
        Err(error) => {
            stop.stop();
            Err(error)
        }
    }
}

impl Stop {
    /// Creates the database as soon as the server lets it; the server's process.
    fn await_readiness(&self, port: &str) -> Result<u32, Error> {
        let began = Instant::now();
        let create = || {
            let mut command = Command::new(self.binaries.join("createdb"));
            super::perform(command.args(["-h", "127.0.0.1", "-p", port, "-U", "bench", "bench"]))
        };
        while let Err(error) = create() {
            if began.elapsed() > Duration::from_secs(30) {
                return Err(error);
            }
            thread::sleep(Duration::from_millis(100));
        }
        let pid_file = self.data.join("postmaster.pid");
        let pid = fs::read_to_string(&pid_file).map_err(|source| Error::file(&pid_file, source))?;
        let pid = pid.lines().next().and_then(|line| line.parse().ok());
        pid.ok_or_else(|| Error::program("postgres", "no process id"))
    }

    /// Without asking anybody: what is in the folder is thrown away.
    pub(super) fn stop(&mut self) {
        let mut stop = as_user(&self.binaries.join("pg_ctl"));
        stop.args(["stop", "-s", "-m", "immediate", "-D"]);
        if let Err(error) = super::perform(stop.arg(&self.data)) {
            eprintln!("Postgres was not stopped in order: {error}");
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// A folder that Postgres may write to.
fn home(dir: &Path) -> Result<PathBuf, Error> {
    let home = dir.join("postgres");
    let make = || {
        fs::create_dir_all(&home)?;
        fs::canonicalize(&home)
    };
    let home = make().map_err(|source| Error::file(&home, source))?;
    if !is_root() {
        return Ok(home);
    }
    super::perform(Command::new("chown").arg(USER).arg(&home))?;
    let mut reach = as_user("test".as_ref());
    super::perform(reach.arg("-w").arg(&home)).map_err(|_| {
        Error::program(
            "initdb",
            "the user postgres may not reach the target folder",
        )
    })?;
    Ok(home)
}

fn as_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", USER, "--"]).arg(program);
    // Who may not read the current folder is told so by every program.
    command.current_dir("/");
    command
}

fn is_root() -> bool {
    super::answer("id".as_ref(), &["-u"]).as_deref() == Some("0")
}
