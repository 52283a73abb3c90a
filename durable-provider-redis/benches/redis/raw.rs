//! The raw limit: the scripts that orchestrations need, called by the client library alone.

use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Value};

const PATIENCE: Duration = Duration::from_secs(60);
/// How many calls share a pipeline.
const BATCH: usize = 64;
/// About the size of the entries and records of the workload.
const ENTRY: [u8; 60] = [7; 60];
const START: [u8; 70] = [7; 70];

const BASE: [&str; 15] = [
    "m", "s", "r", "mail", "held", "w", "holds", "cw", "t", "x", "e", "o", "hwm", "p", "q",
];
const PRELUDE: &str = include_str!("../../src/scripts/prelude.lua");

/// A script, loaded.
struct Script(String);

/// A connection with the scripts loaded and a session open, beside the provider's store.
pub(crate) struct Raw {
    connection: MultiplexedConnection,
    session: String,
    start: Script,
    claim: Script,
    commit: Script,
    last_key: u64,
}

impl Raw {
    pub(crate) async fn open(url: &str) -> Self {
        let client = redis::Client::open(url).unwrap();
        // A busy machine may take longer than the library's half second.
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
        let connecting = client.get_multiplexed_async_connection_with_config(&config);
        let mut connection = connecting.await.unwrap();
        let mut scripts = Vec::new();
        for body in [
            include_str!("../../src/scripts/start.lua"),
            include_str!("../../src/scripts/claim_instances.lua"),
            include_str!("../../src/scripts/commit.lua"),
            include_str!("../../src/scripts/open_session.lua"),
        ] {
            let text = format!("#!lua\n{PRELUDE}\n{body}");
            let mut load = redis::cmd("SCRIPT");
            load.arg("LOAD").arg(text);
            let hash: String = load.query_async(&mut connection).await.unwrap();
            scripts.push(Script(hash));
        }
        let [start, claim, commit, open] = scripts.try_into().ok().unwrap();
        let session = "1".to_owned();
        let mut call = open.call(&[session_key(&session)]);
        call.arg(&session).arg(86_400_000).arg("{}");
        // The activity that it has.
        call.arg("a:add").arg(1);
        let _: (String, u64) = call.query_async(&mut connection).await.unwrap();
        Self {
            connection,
            session,
            start,
            claim,
            commit,
            last_key: 0,
        }
    }

    fn start(&self, id: &str) -> Cmd {
        let mut call = self.start.call(&instance_keys(id));
        call.arg(id).arg("refuse").arg(format!("m-{id}"));
        call.arg(&START[..]).arg("sequence").arg("-").arg("-");
        call
    }

    /// Claims an instance as its start listed it.
    fn claim(&self, id: &str, started: &Value) -> Cmd {
        let started_at_ms = text(&list(started)[1]);
        let mut call = self.claim.call(&instance_keys(id));
        call.arg(&self.session).arg(1_000).arg(1).arg(id);
        call.arg(format!("+8:-:sequence:{started_at_ms:0>17}:{id}"));
        call
    }

    /// A turn: two entries; the message or the work that led to it goes, and the next
    /// activity comes and is claimed, unless it is the last.
    fn commit(&self, held: &Held, turn: u64, is_last: bool) -> Cmd {
        let id = &held.id;
        let mut keys = instance_keys(id);
        keys.extend([history(id), history(id)]);
        keys.push(session_key(&self.session));
        // The arguments of the one turn, of which the script wants the number first.
        let mut call = Cmd::new();
        call.arg(id).arg(&self.session).arg(&held.token);
        call.arg(format!("{turn:032x}")).arg(1).arg(2 * turn).arg(0);
        call.arg(2).arg(&ENTRY[..]).arg(&ENTRY[..]).arg("-");
        match turn {
            0 => call.arg(1).arg(&held.seq).arg(0),
            _ => call.arg(0).arg(1).arg(format!("1:{}", 2 * turn)),
        };
        // Nothing cancelled.
        call.arg(0);
        match turn {
            0 => call.arg("+sequence").arg("+1.0.0"),
            _ => call.arg("-").arg("-"),
        };
        match (turn, is_last) {
            (0, _) => call.arg("+1").arg(&ENTRY[..20]),
            (_, true) => call.arg("+3").arg(&ENTRY[..20]),
            _ => call.arg("-"),
        };
        // No custom status, no delay, nothing blocked; no timers; no messages.
        call.arg("-").arg("-").arg("-").arg(0).arg(0);
        call.arg(0).arg(0).arg(0);
        call.arg(if is_last { "0" } else { "1" });
        // One item of the default queue is claimed.
        call.arg(1).arg(1).arg("-");
        match is_last {
            true => call.arg(0),
            // The second entry schedules it.
            false => call
                .arg(1)
                .arg(format!("1:{}", 2 * turn + 2))
                .arg(turn)
                .arg(2)
                .arg("-")
                .arg("add"),
        };
        let mut commit = self.commit.call(&keys);
        commit.arg(1).arg(keys.len()).arg(call.args_iter().count());
        for argument in call.args_iter() {
            if let redis::Arg::Simple(bytes) = argument {
                commit.arg(bytes);
            }
        }
        commit
    }

    async fn pipelines(&mut self, calls: &[Cmd]) -> Vec<Value> {
        let mut answers = Vec::new();
        for calls in calls.chunks(BATCH) {
            let mut pipeline = redis::Pipeline::with_capacity(BATCH);
            for call in calls {
                pipeline.add_command(call.clone());
            }
            let batch: Vec<Value> = pipeline.query_async(&mut self.connection).await.unwrap();
            answers.extend(batch);
        }
        answers
    }

    fn next_id(&mut self) -> String {
        self.last_key += 1;
        format!("sequence-{}", self.last_key)
    }

    /// Runs the scripts of this many orchestrations of this many activities, in pipelines.
    pub(crate) async fn throughput(&mut self, instances: u64, steps: u64) -> Duration {
        let ids: Vec<String> = (0..instances).map(|_| self.next_id()).collect();
        let began = Instant::now();
        let starts: Vec<Cmd> = ids.iter().map(|id| self.start(id)).collect();
        let started = self.pipelines(&starts).await;
        let claims = ids.iter().zip(&started);
        let claims: Vec<Cmd> = claims
            .map(|(id, started)| self.claim(id, started))
            .collect();
        let claimed = self.pipelines(&claims).await;
        let held: Vec<Held> = claimed.iter().map(Held::read).collect();
        for turn in 0..=steps {
            let is_last = turn == steps;
            let turns = held.iter().map(|held| self.commit(held, turn, is_last));
            let turns: Vec<Cmd> = turns.collect();
            for answer in self.pipelines(&turns).await {
                assert_done(&answer);
            }
        }
        began.elapsed()
    }

    /// The writes of an orchestration of so many activities, one by one: started, claimed,
    /// the first turn, and one for every activity that completed.
    pub(crate) async fn orchestration(
        &mut self,
        steps: u64,
        mut activity: impl FnMut() + Send,
    ) -> Duration {
        let id = self.next_id();
        let began = Instant::now();
        let start = self.start(&id);
        let started = self.pipelines(&[start]).await;
        let claim = self.claim(&id, &started[0]);
        let held = Held::read(&self.pipelines(&[claim]).await[0]);
        for turn in 0..=steps {
            if turn > 0 {
                activity();
            }
            let commit = self.commit(&held, turn, turn == steps);
            assert_done(&self.pipelines(&[commit]).await[0]);
        }
        began.elapsed()
    }
}

impl Script {
    fn call(&self, keys: &[String]) -> Cmd {
        let mut call = redis::cmd("EVALSHA");
        call.arg(&self.0).arg(BASE.len() + keys.len());
        for name in BASE {
            call.arg(format!("{{raw:0}}:{name}"));
        }
        call.arg(keys).arg("").arg("raw:changes");
        call
    }
}

/// An instance that was claimed.
struct Held {
    id: String,
    token: String,
    seq: String,
}

impl Held {
    fn read(answer: &Value) -> Self {
        let claimed = &list(&list(answer)[2])[0];
        let fields = list(claimed);
        Self {
            id: text(&fields[0]),
            token: text(&fields[1]),
            seq: text(&list(&fields[7])[0]),
        }
    }
}

fn instance_keys(id: &str) -> Vec<String> {
    ["i", "in", "id"]
        .iter()
        .map(|name| format!("{{raw:0}}:{name}:{id}"))
        .collect()
}

fn session_key(session: &str) -> String {
    format!("{{raw:0}}:s:{session}")
}

fn history(id: &str) -> String {
    format!("{{raw:0}}:h:1:{id}")
}

fn assert_done(answer: &Value) {
    assert_eq!(text(&list(&list(&list(answer)[2])[0])[0]), "DONE");
}

fn list(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        _ => &[],
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}
