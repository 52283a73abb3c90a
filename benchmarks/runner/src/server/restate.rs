//! The Restate server: its binary comes with a package of npm.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Life, Running};
use crate::error::Error;

const PACKAGE: &str = "@restatedev/restate-server";
const VERSION: &str = "1.7.12";

pub(super) fn install(out: &Path) -> Result<(PathBuf, String), Error> {
    let folder = out.join("npm");
    let found = || {
        let program = program(&folder)?;
        let version = super::answer(&program, &["--version"])?;
        Some((program, version.replace("restate-server", "Restate")))
    };
    if let Some(found) = found() {
        return Ok(found);
    }
    eprintln!("installing {PACKAGE} {VERSION} (npm)");
    fs::create_dir_all(&folder).map_err(|source| Error::file(&folder, source))?;
    let install = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--prefix"])
        .arg(&folder)
        .arg(format!("{PACKAGE}@{VERSION}"))
        .output();
    found().ok_or_else(|| Error::Missing {
        what: "the Restate server",
        hint: match install {
            Err(source) => format!("npm cannot be run: {source}"),
            Ok(_) => format!("npm could not install {PACKAGE}@{VERSION}"),
        },
    })
}

/// The package has the binary in one of its own for the platform.
fn program(folder: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(folder.join("node_modules/@restatedev")).ok()?;
    let mut programs = packages.filter_map(|entry| {
        let program = entry.ok()?.path().join("bin/restate-server");
        program.is_file().then_some(program)
    });
    programs.next()
}

pub(super) fn start(program: &Path, dir: &Path, is_tuned: bool) -> Result<Running, Error> {
    let (ingress, admin, node) = (
        super::free_port()?,
        super::free_port()?,
        super::free_port()?,
    );
    let log = dir.join("restate.log");
    let output = File::create(&log).map_err(|source| Error::file(&log, source))?;
    let mut command = Command::new(program);
    if is_tuned {
        // 24 partitions, the default, are for a cluster: with one or two per core more
        // of what arrives together is written together.
        command.args(["--default-num-partitions", "4"]);
    }
    let child = command
        .args([
            "--no-logo",
            "--listen-mode",
            "tcp",
            "--bind-ip",
            "127.0.0.1",
        ])
        .arg("--base-dir")
        .arg(dir.join("restate-data"))
        .args(["--node-name", "bench", "--bind-port", &node.to_string()])
        .env("RESTATE_INGRESS__BIND_PORT", ingress.to_string())
        .env("RESTATE_ADMIN__BIND_PORT", admin.to_string())
        .env("RESTATE_DISABLE_TELEMETRY", "true")
        .env("DO_NOT_TRACK", "1")
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|source| Error::program("restate-server", source))?;
    let running = Running {
        address: format!("http://127.0.0.1:{ingress},http://127.0.0.1:{admin}"),
        life: Life::One(child),
    };
    let health =
        |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let bound = Duration::from_secs(60);
    super::await_answer(admin, &health("/health"), "HTTP/1.1 200", bound)?;
    super::await_answer(ingress, &health("/restate/health"), "HTTP/1.1 200", bound)?;
    Ok(running)
}
