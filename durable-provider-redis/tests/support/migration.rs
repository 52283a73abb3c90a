//! Moving slots of a cluster from primary to primary, key by key, as an operator's tool does.

use std::time::{Duration, Instant};

use redis::{Connection, RedisResult, cmd};

use super::cluster::Cluster;
use super::server::Server;

/// How long a primary may take to send keys to another.
const MIGRATE_MS: u64 = 5_000;
/// How long it may take until a call is refused.
const PATIENCE: Duration = Duration::from_secs(60);

/// Connections to all primaries.
pub(crate) struct Mover {
    primaries: Vec<Primary>,
}

struct Primary {
    id: String,
    port: u16,
    connection: Connection,
}

impl Mover {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        let primary = |server: &Server| {
            let client = redis::Client::open(server.url()).unwrap();
            let mut connection = client.get_connection().unwrap();
            Primary {
                id: cmd("CLUSTER").arg("MYID").query(&mut connection).unwrap(),
                port: server.port(),
                connection,
            }
        };
        Self {
            primaries: cluster.primaries.iter().map(primary).collect(),
        }
    }

    /// The slot of a key.
    pub(crate) fn slot_of(&mut self, key: &str) -> u16 {
        let asked = &mut self.primaries[0].connection;
        cmd("CLUSTER").arg("KEYSLOT").arg(key).query(asked).unwrap()
    }

    /// Moves a slot to the next primary; `look` is called after each handful of keys. It
    /// rests half-way until calls were refused because of it. Says how many keys moved.
    pub(crate) fn move_slot(&mut self, slot: u16, mut look: impl FnMut()) -> usize {
        let from = self.owner(slot);
        let to = (from + 1) % self.primaries.len();
        let (source, target) = (
            self.primaries[from].id.clone(),
            self.primaries[to].id.clone(),
        );
        self.set_slot(to, slot, "IMPORTING", &source).unwrap();
        self.set_slot(from, slot, "MIGRATING", &target).unwrap();
        let refused = self.refusals();
        let mut moved = 0;
        loop {
            let keys = self.some_keys(from, slot);
            if keys.is_empty() {
                break;
            }
            moved += keys.len();
            self.send_keys(from, to, &keys);
            look();
            self.wait_for_refusals(refused + 10);
        }
        // The new owner first: a client that is sent to it is served.
        let others = (0..self.primaries.len()).filter(|number| ![from, to].contains(number));
        for number in [to, from].into_iter().chain(others) {
            self.set_slot(number, slot, "NODE", &target).unwrap();
        }
        moved
    }

    fn refusals(&mut self) -> u64 {
        self.errors("TRYAGAIN") + self.errors("ASK")
    }

    fn wait_for_refusals(&mut self, count: u64) {
        let began = Instant::now();
        while self.refusals() < count {
            assert!(began.elapsed() < PATIENCE, "no call comes");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// How often the primaries answered with this error.
    pub(crate) fn errors(&mut self, name: &str) -> u64 {
        let start = format!("errorstat_{name}:count=");
        let count = |primary: &mut Primary| {
            let asked = &mut primary.connection;
            let stats: String = cmd("INFO").arg("errorstats").query(asked).unwrap();
            let mut lines = stats.lines();
            let count = lines.find_map(|line| line.strip_prefix(&start));
            count.map_or(0, |count| count.parse().unwrap())
        };
        self.primaries.iter_mut().map(count).sum()
    }

    fn owner(&mut self, slot: u16) -> usize {
        let nodes: String = {
            let asked = &mut self.primaries[0].connection;
            cmd("CLUSTER").arg("NODES").query(asked).unwrap()
        };
        let serves = |text: &str| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            let (first, last) = (first.parse::<u16>(), last.parse::<u16>());
            matches!((first, last), (Ok(first), Ok(last)) if (first..=last).contains(&slot))
        };
        let line = nodes
            .lines()
            .find(|line| line.split(' ').skip(8).any(serves));
        let id = line.and_then(|line| line.split(' ').next()).unwrap();
        let mut primaries = self.primaries.iter();
        primaries.position(|primary| primary.id == id).unwrap()
    }

    fn set_slot(&mut self, at: usize, slot: u16, state: &str, id: &str) -> RedisResult<()> {
        let mut command = cmd("CLUSTER");
        command.arg("SETSLOT").arg(slot).arg(state).arg(id);
        command.query(&mut self.primaries[at].connection)
    }

    fn some_keys(&mut self, at: usize, slot: u16) -> Vec<Vec<u8>> {
        let mut command = cmd("CLUSTER");
        command.arg("GETKEYSINSLOT").arg(slot).arg(5);
        command.query(&mut self.primaries[at].connection).unwrap()
    }

    fn send_keys(&mut self, from: usize, to: usize, keys: &[Vec<u8>]) {
        let mut command = cmd("MIGRATE");
        command.arg("127.0.0.1").arg(self.primaries[to].port);
        command.arg("").arg(0).arg(MIGRATE_MS).arg("KEYS").arg(keys);
        let sent: RedisResult<String> = command.query(&mut self.primaries[from].connection);
        sent.unwrap();
    }
}
