//! The same commands on a real Redis server.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
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
        Self::with(&[])
    }

    fn with(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
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
            .args(settings)
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
        let options = RedisOptions::default().prefix("shop");
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

/// Taken and given back: a server refuses to start if another process is faster.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Writes a certificate that is its own authority, and its key.
fn write_identity(folder: &Path) -> [String; 2] {
    let identity = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let pems = [identity.cert.pem(), identity.signing_key.serialize_pem()];
    let paths = ["me.pem", "me.key"].map(|name| folder.join(name));
    for (path, pem) in paths.iter().zip(pems) {
        std::fs::write(path, pem).unwrap();
    }
    paths.map(|path| path.to_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_behind_tls_is_read_with_the_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let [cert, key] = write_identity(folder.path());
    let port = free_port().to_string();
    let server = Server::with(
        &[
            ["--tls-port", &port, "--tls-ca-cert-file", &cert],
            ["--tls-cert-file", &cert, "--tls-key-file", &key],
        ]
        .concat(),
    );
    let node = server.node().await;
    node.client()
        .start(QUICK, "q-1", &4)
        .await
        .unwrap()
        .wait()
        .await
        .unwrap();
    node.shutdown(Duration::from_secs(5)).await;

    let url = format!("rediss://127.0.0.1:{port}?prefix=shop");
    let listed = |url: &str| durable(&["-s", url, "list"]);
    let all = format!("{url}&ca={cert}&cert={cert}&key={key}");
    assert!(listed(&all).done().contains("q-1"));
    let told = listed(&url).refused();
    assert!(told.contains("TLS: invalid peer certificate"), "{told}");
    let told = listed(&format!("{url}&ca={cert}")).refused();
    assert!(told.contains("CertificateRequired"), "{told}");
    let told = listed(&format!("{url}&ca={cert}.missing")).refused();
    assert!(told.contains("me.pem.missing"), "{told}");
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
    let told = durable(&["-s", &other, "list"]).refused();
    assert!(told.contains("no store with the prefix `other`"), "{told}");
    let file = file.to_str().unwrap();
    let told = durable(&["-s", &other, "import", file]).refused();
    assert!(told.contains("no store with the prefix `other`"), "{told}");
    durable(&["-s", &other, "import", "--create", file]).done();
    assert_eq!(durable(&["-s", &other, "export", "q-1"]).done(), export);
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let told = durable(&["-s", "redis://me:secret@127.0.0.1:1", "list"]).refused();
    assert!(told.contains("127.0.0.1:1"), "{told}");
    assert!(!told.contains("secret"), "{told}");
}
