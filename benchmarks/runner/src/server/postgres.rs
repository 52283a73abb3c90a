//! Postgres: a cluster of its own in a folder of its own.
//!
//! Postgres refuses to run as root; then it runs as the user `postgres`, which the
//! package of the system creates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let port = super::free_port()?;
    let initdb = [
        "--auth=trust",
        "--username=bench",
        "--no-locale",
        "--encoding=UTF8",
    ];
    super::perform(
        as_user(&binaries.join("initdb"))
            .args(initdb)
            .arg("-D")
            .arg(&data),
    )?;
    let options = format!(
        "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' \
         -c fsync=on -c synchronous_commit=on -c max_connections=120"
    );
    let stop = Stop {
        binaries: binaries.to_owned(),
        data: data.clone(),
    };
    let mut start = as_user(&binaries.join("pg_ctl"));
    start
        .args(["start", "-w", "-s", "-o", &options, "-D"])
        .arg(&data);
    super::perform(start.arg("-l").arg(home.join("log")))?;
    let pid_file = data.join("postmaster.pid");
    let pid = fs::read_to_string(&pid_file).map_err(|source| Error::file(&pid_file, source))?;
    let pid = pid.lines().next().and_then(|line| line.parse().ok());
    let pid = pid.ok_or_else(|| Error::program("pg_ctl", "no process id"))?;
    let running = Running {
        address: format!("postgres://bench@127.0.0.1:{port}/bench"),
        life: Life::Many {
            stop,
            watch: Watch::new(pid),
        },
    };
    let create = [
        "-h",
        "127.0.0.1",
        "-p",
        &port.to_string(),
        "-U",
        "bench",
        "bench",
    ];
    super::perform(Command::new(binaries.join("createdb")).args(create))?;
    Ok(running)
}

impl Stop {
    /// Without asking anybody: what is in the folder is thrown away.
    pub(super) fn stop(&self) {
        let mut stop = as_user(&self.binaries.join("pg_ctl"));
        let stopped = super::perform(
            stop.args(["stop", "-s", "-m", "immediate", "-D"])
                .arg(&self.data),
        );
        if let Err(error) = stopped {
            eprintln!("Postgres was not stopped: {error}");
        }
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
