//! A real `redis-server` on a free port of the loopback, in a temporary folder, killed when
//! it is dropped.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use durable_core::provider::Clock;
use durable_provider_redis::{RedisOptions, RedisProvider};
use tempfile::TempDir;

/// The settings that the strict mode wants.
pub(crate) const DURABLE: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// How long a server may take to answer or to go.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server and its folder.
#[derive(Debug)]
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    settings: Vec<String>,
    child: Child,
}

impl Server {
    /// A server that keeps what it acknowledges.
    pub(crate) fn start() -> Self {
        Self::with(&DURABLE)
    }

    /// A server with these settings.
    pub(crate) fn with(settings: &[&str]) -> Self {
        let settings: Vec<String> = settings.iter().map(|text| (*text).to_owned()).collect();
        // Another process may take the port between the look and the start.
        for _ in 0..10 {
            let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
            let child = spawn(&folder, port, &settings);
            let mut server = Self {
                folder,
                port,
                settings: settings.clone(),
                child,
            };
            if server.is_up() {
                return server;
            }
        }
        panic!("redis-server does not come up with {settings:?}");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Kills the server with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts a killed server again, on what it left.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(&self.folder, self.port, &self.settings);
        assert!(self.is_up(), "the server does not come back");
    }

    /// Sends an inline command and reads what comes at once.
    pub(crate) fn command(&self, text: &str) -> String {
        ask(self.port, text).unwrap()
    }

    /// Opens the store with these options.
    pub(crate) async fn open(&self, options: RedisOptions) -> RedisProvider {
        RedisProvider::open_with(&[&self.url()], options)
            .await
            .unwrap()
    }

    /// Opens the store with these options, in the time of this clock.
    pub(crate) async fn open_at(&self, options: RedisOptions, clock: impl Clock) -> RedisProvider {
        RedisProvider::open_with_clock(&[&self.url()], options, clock)
            .await
            .unwrap()
    }

    fn is_up(&mut self) -> bool {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if ask(self.port, "PING").is_ok_and(|answer| answer.contains("PONG")) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(folder: &TempDir, port: u16, settings: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--dir"])
        .arg(folder.path())
        .args(settings)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-server is needed: `apt-get install redis-server`, or `cargo xtask ci` where it may")
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn ask(port: u16, text: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{text}\r\n").as_bytes())?;
    let mut buffer = vec![0; 64 * 1024];
    let length = stream.read(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

/// Options of a store of its own.
pub(crate) fn store_options() -> RedisOptions {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    RedisOptions::default().prefix(format!("test-{number}"))
}
