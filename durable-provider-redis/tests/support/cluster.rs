//! A cluster of primaries on the loopback.

use std::time::{Duration, Instant};

use durable_core::provider::Clock;
use durable_provider_redis::{RedisOptions, RedisProvider};

use super::server::{DURABLE, Server, free_port};
use super::tls::{Authority, Clients};

const SLOTS: u32 = 16_384;
const PATIENCE: Duration = Duration::from_secs(60);

/// Primaries that share the slots.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) primaries: Vec<Server>,
    urls: Vec<String>,
}

/// A primary before it knows the others: its port for clients of the cluster, and its bus.
struct NewPrimary {
    server: Server,
    port: u16,
    bus: u16,
}

impl Cluster {
    /// A cluster that has formed.
    pub(crate) fn start(primaries: usize) -> Self {
        let settings = DURABLE.map(str::to_owned);
        let primaries = (0..primaries).map(|_| {
            let (server, bus) = primary(&settings);
            let port = server.port();
            NewPrimary { server, port, bus }
        });
        Self::form("redis", primaries.collect())
    }

    /// As [`start`](Self::start), where servers and clients speak TLS and show certificates.
    pub(crate) fn start_with_tls(primaries: usize, authority: &Authority) -> Self {
        let primaries = (0..primaries).map(|_| {
            let port = free_port();
            let mut settings = authority.settings(port, Clients::WithCertificate);
            settings.extend(["--tls-cluster", "yes"].map(str::to_owned));
            let (server, bus) = primary(&settings);
            NewPrimary { server, port, bus }
        });
        Self::form("rediss", primaries.collect())
    }

    fn form(scheme: &str, primaries: Vec<NewPrimary>) -> Self {
        let count = u32::try_from(primaries.len()).unwrap();
        for (primary, number) in primaries.iter().zip(0..) {
            let (first, next) = (number * SLOTS / count, (number + 1) * SLOTS / count);
            let server = &primary.server;
            server.command(&format!("CLUSTER ADDSLOTSRANGE {first} {}", next - 1));
            for NewPrimary { port, bus, .. } in &primaries {
                server.command(&format!("CLUSTER MEET 127.0.0.1 {port} {bus}"));
            }
        }
        let url = |primary: &NewPrimary| format!("{scheme}://127.0.0.1:{}", primary.port);
        let cluster = Self {
            urls: primaries.iter().map(url).collect(),
            primaries: primaries.into_iter().map(|it| it.server).collect(),
        };
        cluster.wait_until_formed();
        cluster
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.urls.clone()
    }

    pub(crate) async fn open(&self, options: RedisOptions) -> RedisProvider {
        let urls: Vec<&str> = self.urls.iter().map(String::as_str).collect();
        RedisProvider::open_with(&urls, options).await.unwrap()
    }

    /// Opens the store with these options, in the time of this clock.
    pub(crate) async fn open_at(&self, options: RedisOptions, clock: impl Clock) -> RedisProvider {
        let urls: Vec<&str> = self.urls.iter().map(String::as_str).collect();
        RedisProvider::open_with_clock(&urls, options, clock)
            .await
            .unwrap()
    }

    pub(crate) fn wait_until_formed(&self) {
        let began = Instant::now();
        let known = format!("cluster_known_nodes:{}", self.primaries.len());
        let has_formed = |server: &Server| {
            let info = server.command("CLUSTER INFO");
            info.contains("cluster_state:ok") && info.contains(&known)
        };
        while !self.primaries.iter().all(has_formed) {
            assert!(began.elapsed() < PATIENCE, "the cluster does not form");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn primary(settings: &[String]) -> (Server, u16) {
    let bus = free_port();
    let bus_text = bus.to_string();
    let mut settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    settings.extend(["--cluster-enabled", "yes", "--cluster-port", &bus_text]);
    settings.extend(["--cluster-node-timeout", "2000"]);
    (Server::with(&settings), bus)
}
