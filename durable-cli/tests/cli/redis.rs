//! The same commands on a real Redis server.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use durable_provider_redis::{RedisOptions, RedisProvider};
use durable_runtime::Runtime;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{QUICK, Ran, WAITS, durable, registry};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server on a free port of the loopback, killed when it is dropped.
struct Server {
    _folder: TempDir,
    port: u16,
    child: Child,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Taken and given back: the server refuses to start if somebody else is faster.
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let child = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
            ])
            .args(["--appendonly", "yes", "--appendfsync", "always", "--dir"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is needed: `apt-get install redis-server`");
        let server = Self {
            _folder: folder,
            port,
            child,
        };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < PATIENCE, "the server does not answer");
            std::thread::yield_now();
        }
        server
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn durable(&self, arguments: &[&str]) -> Ran {
        let store = format!("{}?prefix=shop", self.url());
        durable(&[&["--store", &store], arguments].concat())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.durable(&[&["--json"], arguments].concat());
        serde_json::from_str(&ran.done()).unwrap()
    }

    async fn node(&self) -> Runtime {
        let options = RedisOptions {
            prefix: "shop".into(),
            ..RedisOptions::default()
        };
        let store = RedisProvider::open_with(&[&self.url()], options)
            .await
            .unwrap();
        Runtime::builder(store, registry()).start().await.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_on_redis_is_looked_into_and_steered() {
    let server = Server::start();
    let node = server.node().await;
    assert_eq!(
        server.json(&["start", "quick", "q-1", "-i", "4"])["instance"],
        "q-1"
    );
    assert_eq!(
        node.client().instance(QUICK, "q-1").wait().await.unwrap(),
        8
    );
    let waits = node.client().start(WAITS, "w-1", &0).await.unwrap();
    waits
        .wait_until(|record| record.custom_status.is_some())
        .await
        .unwrap();
    let shown = server.json(&["show", "w-1"]);
    assert_eq!(shown["waits_for"][1]["command"], "External(0)");
    server
        .durable(&["raise", "w-1", "approved", "-d", "true"])
        .done();
    assert!(waits.wait().await.unwrap());
    let history = server.json(&["history", "q-1"]);
    assert_eq!(history["events"].as_array().unwrap().len(), 4);
    assert!(
        server
            .durable(&["timeline", "w-1"])
            .done()
            .contains("event approved")
    );
    assert_eq!(server.json(&["check"])["sound"], true);
    assert_eq!(server.json(&["stats"])["instances"], 2);
    node.shutdown(Duration::from_secs(5)).await;

    let export = server.durable(&["export", "q-1"]).done();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("q-1.json");
    std::fs::write(&file, &export).unwrap();
    assert_eq!(
        server.json(&["purge", "--name", "quick"]),
        json!({ "meant": 1, "removed": 1 })
    );
    let other = format!("{}?prefix=other", server.url());
    durable(&["-s", &other, "import", file.to_str().unwrap()]).done();
    assert_eq!(durable(&["-s", &other, "export", "q-1"]).done(), export);
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let told = durable(&["-s", "redis://me:secret@127.0.0.1:1", "list"]).refused();
    assert!(told.contains("127.0.0.1:1"), "{told}");
    assert!(!told.contains("secret"), "{told}");
}
