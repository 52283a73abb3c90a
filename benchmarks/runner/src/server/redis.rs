//! Redis: from the path, or from the packages of the system.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Life, Running};
use crate::error::Error;

const PROGRAM: &str = "redis-server";

pub(super) fn install() -> Result<(PathBuf, String), Error> {
    let version = || super::answer(PROGRAM.as_ref(), &["--version"]);
    let version = version().or_else(|| {
        super::apt_install(PROGRAM);
        version()
    });
    let Some(version) = version else {
        let hint = "to get it: apt-get install redis-server".to_owned();
        return Err(Error::Missing {
            what: "Redis",
            hint,
        });
    };
    let number = version
        .split_whitespace()
        .find_map(|word| word.strip_prefix("v="));
    Ok((PROGRAM.into(), format!("Redis {}", number.unwrap_or("?"))))
}

pub(super) fn start(program: &Path, dir: &Path, appendfsync: &str) -> Result<Running, Error> {
    let port = super::free_port()?;
    let child = Command::new(program)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .arg("--dir")
        .arg(dir)
        .args([
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            appendfsync,
        ])
        .args([
            "--no-appendfsync-on-rewrite",
            "no",
            "--maxmemory-policy",
            "noeviction",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| Error::program(PROGRAM, source))?;
    let running = Running {
        address: format!("redis://127.0.0.1:{port}"),
        life: Life::One(child),
    };
    super::await_answer(port, "PING\r\n", "+PONG", Duration::from_secs(10))?;
    Ok(running)
}
