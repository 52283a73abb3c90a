//! A cluster of primaries on the loopback.

use std::time::{Duration, Instant};

use durable_provider_redis::{RedisOptions, RedisProvider};

use super::server::{DURABLE, Server, free_port};

const SLOTS: u32 = 16_384;
const PATIENCE: Duration = Duration::from_secs(60);

/// Primaries that share the slots.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) primaries: Vec<Server>,
}

impl Cluster {
    /// A cluster that has formed.
    pub(crate) fn start(primaries: usize) -> Self {
        let started: Vec<(Server, u16)> = (0..primaries).map(|_| primary()).collect();
        let count = u32::try_from(primaries).unwrap();
        for ((server, _), number) in started.iter().zip(0..) {
            let (first, next) = (number * SLOTS / count, (number + 1) * SLOTS / count);
            server.command(&format!("CLUSTER ADDSLOTSRANGE {first} {}", next - 1));
            for (other, bus) in &started {
                server.command(&format!("CLUSTER MEET 127.0.0.1 {} {bus}", other.port()));
            }
        }
        let cluster = Self {
            primaries: started.into_iter().map(|(server, _)| server).collect(),
        };
        cluster.wait_until_formed();
        cluster
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.primaries.iter().map(Server::url).collect()
    }

    pub(crate) async fn open(&self, options: RedisOptions) -> RedisProvider {
        let urls = self.urls();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        RedisProvider::open_with(&urls, options).await.unwrap()
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

fn primary() -> (Server, u16) {
    let bus = free_port();
    let bus_text = bus.to_string();
    let mut settings = DURABLE.to_vec();
    settings.extend(["--cluster-enabled", "yes", "--cluster-port", &bus_text]);
    settings.extend(["--cluster-node-timeout", "2000"]);
    (Server::with(&settings), bus)
}
