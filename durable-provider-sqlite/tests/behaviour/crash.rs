//! Real crashes: a working child process is killed with SIGKILL at random moments,
//! and after each kill the file is audited. What the child was told before it died
//! must be there.
//!
//! The child is this very test binary, which is told by its environment to be one. It
//! writes a line for every acknowledgement it got; its parent reads them until the
//! pipe ends, which is after the last line that can have been written.
//!
//! `DURABLE_CRASH_KILLS` sets the number of kills, `DURABLE_CRASH_SEED` the moments.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use durable_core::provider::{InstanceStatus, Provider, SessionOptions};
use durable_core::{Event, InstanceId};
use durable_provider_sqlite::SqliteProvider;

use crate::support::{GATED, GO, Place, audit, child, history, node, records, say};

const KILLS: u64 = 200;
/// After so many kills a new file is begun, or the audits would take ever longer.
const KILLS_PER_FILE: u64 = 25;
const FILE: &str = "DURABLE_CRASH_FILE";
const RUN: &str = "DURABLE_CRASH_RUN";

/// What the children of one file were told.
#[derive(Debug, Default)]
struct Acknowledged {
    started: Vec<InstanceId>,
    raised: Vec<InstanceId>,
    results: BTreeMap<InstanceId, String>,
}

impl Acknowledged {
    fn read(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["started", id] => self.started.push((*id).into()),
            ["raised", id] => self.raised.push((*id).into()),
            ["result", id, output] => {
                self.results.insert((*id).into(), (*output).into());
            }
            // The test harness speaks too.
            _ => {}
        }
    }
}

#[test]
fn nothing_that_was_acknowledged_is_lost_when_the_process_is_killed() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let kills = number("DURABLE_CRASH_KILLS").unwrap_or(KILLS);
    let mut random = number("DURABLE_CRASH_SEED").unwrap_or(0x5eed) | 1;
    let mut run = 0;
    while run < kills {
        let place = Place::new();
        let mut acknowledged = Acknowledged::default();
        for _ in 0..KILLS_PER_FILE.min(kills - run) {
            run += 1;
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let moment = Moment {
                lines: (random % 30) as usize,
                pause: Duration::from_micros(random / 64 % 6_000),
            };
            kill_a_child(&place.file(), run, &moment, &mut acknowledged);
            block_on(check(&place, &acknowledged));
        }
        assert!(
            !acknowledged.results.is_empty(),
            "the children got nothing done"
        );
        block_on(finish(&place, &acknowledged));
    }
}

fn block_on(future: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future);
}

/// When a child is killed: after so many acknowledgements and a pause.
struct Moment {
    lines: usize,
    pause: Duration,
}

/// Runs a child until its moment has come, and kills it.
fn kill_a_child(file: &Path, run: u64, moment: &Moment, acknowledged: &mut Acknowledged) {
    let mut child = child("crash::a_child_that_works_until_it_is_killed")
        .env(FILE, file)
        .env(RUN, run.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.by_ref().map_while(Result::ok) {
        if line == "at work" {
            break;
        }
    }
    let mut rest: Vec<String> = Vec::new();
    rest.extend(lines.by_ref().map_while(Result::ok).take(moment.lines));
    std::thread::sleep(moment.pause);
    child.kill().unwrap();
    rest.extend(lines.map_while(Result::ok));
    // The last line may be torn: it was not finished, so no caller was told.
    if rest.last().is_some_and(|line| !line.ends_with('.')) {
        rest.pop();
    }
    for line in &rest {
        acknowledged.read(line.trim_end_matches(" ."));
    }
    child.wait().unwrap();
}

/// Everything that was acknowledged is there, and what the dead process held is ready.
async fn check(place: &Place, acknowledged: &Acknowledged) {
    let provider = place.open();
    audit(&provider).await;
    for id in &acknowledged.started {
        assert!(
            provider.instance(id).await.unwrap().is_some(),
            "the start of {id}"
        );
    }
    for (id, output) in &acknowledged.results {
        let record = provider.instance(id).await.unwrap().unwrap();
        let expected = InstanceStatus::Completed {
            output: output.as_str().into(),
        };
        assert_eq!(record.status, expected, "the result of {id}");
    }
    check_events(&provider, acknowledged).await;
    let session = provider.open_session(SessionOptions::default());
    let session = session.await.unwrap();
    let ready = provider.fetch_instances(session, 10_000).await.unwrap();
    assert_eq!(ready.next_due_ms, None, "a dead process holds nothing");
    let work = provider.fetch_work(session, &[None], 10_000).await.unwrap();
    assert_eq!(work.next_due_ms, None, "a dead process holds no work");
    provider.close_session(session).await.unwrap();
}

/// An event that was acknowledged is in a history, or in an inbox that a session gets.
async fn check_events(provider: &SqliteProvider, acknowledged: &Acknowledged) {
    let session = provider.open_session(SessionOptions::default());
    let session = session.await.unwrap();
    let ready = provider.fetch_instances(session, 10_000).await.unwrap();
    for id in &acknowledged.raised {
        let record = provider.instance(id).await.unwrap().unwrap();
        let entries = history(provider, id, record.execution_id).await;
        let is_recorded = entries
            .iter()
            .any(|entry| matches!(entry.event, Event::ExternalEvent { .. }));
        let go = format!("go-{id}");
        let mut messages = ready
            .instances
            .iter()
            .filter(|ready| ready.lease.instance == *id)
            .flat_map(|ready| &ready.messages);
        let is_waiting = messages.any(|queued| queued.message.message_id == go.as_str());
        assert!(is_recorded || is_waiting, "the event of {id}");
    }
    provider.close_session(session).await.unwrap();
}

/// In the end all instances finish, without anybody waiting for a heartbeat bound.
async fn finish(place: &Place, acknowledged: &Acknowledged) {
    let provider = place.open();
    let began = Instant::now();
    let runtime = node(&provider).await;
    for record in records(&provider).await {
        let instance = runtime.client().instance(GATED, record.instance.clone());
        if !acknowledged.raised.contains(&record.instance) {
            let go = format!("go-{}", record.instance);
            // It may have got it, and even ended, without the child being told.
            let _ = instance.raise_with_id(go, GO, &0).await;
        }
        assert_eq!(instance.wait().await.unwrap(), 4, "{}", record.instance);
    }
    assert!(began.elapsed() < Duration::from_secs(60));
    runtime.shutdown(Duration::from_secs(5)).await;
    audit(&provider).await;
}

/// Not a test: what the children do. Without its environment it does nothing.
#[test]
fn a_child_that_works_until_it_is_killed() {
    let (Ok(file), Ok(run)) = (std::env::var(FILE), std::env::var(RUN)) else {
        return;
    };
    block_on(async move {
        let provider = SqliteProvider::open(file).unwrap();
        let runtime = node(&provider).await;
        // The test harness may have begun a line.
        say("\nat work");
        for number in 0.. {
            let id = format!("i-{run}-{number}");
            let client = runtime.client();
            let instance = client.start(GATED, id.as_str(), &1).await.unwrap();
            say(&format!("started {id} ."));
            tokio::spawn(async move {
                let id = instance.id().clone();
                instance
                    .raise_with_id(format!("go-{id}"), GO, &0)
                    .await
                    .unwrap();
                say(&format!("raised {id} ."));
                let output = instance.wait().await.unwrap();
                say(&format!("result {id} {output} ."));
            });
        }
    });
}
