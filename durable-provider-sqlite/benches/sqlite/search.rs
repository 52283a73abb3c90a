//! How long the first page of a list takes in a store of a million instances.

use std::time::{Duration, Instant};

use durable_core::Failure;
use durable_core::encode_status;
use durable_core::filter::InstanceQuery;
use durable_core::provider::{InstanceStatus, Provider};
use durable_provider_sqlite::SqliteProvider;
use rusqlite::{Connection, params};

const INSTANCES: i64 = 1_000_000;
const PAGE: usize = 50;
const RUNS: usize = 15;
/// What a first page may take at the median.
const BOUND: Duration = Duration::from_millis(20);

/// Every order by creation, what has stopped by time, and filters whose narrowest term has at
/// most 10,000 instances; each with what the term has.
const PROMISED: &[(&str, &str)] = &[
    ("order by created desc", "all"),
    ("order by created", "all"),
    ("order by id", "all"),
    ("status = failed", "580,000"),
    ("status = failed order by created", "580,000"),
    ("status = running", "120,000"),
    ("status = terminated", "100"),
    ("status = failed order by changed desc", "580,000"),
    ("status = terminated order by changed", "100"),
    (
        "status not in (pending, running) order by changed desc",
        "880,000",
    ),
    (
        "status = failed and changed > @1700000999000 order by changed desc",
        "580",
    ),
    ("region = eu", "250,000"),
    (
        "region = eu and status = failed order by created",
        "250,000",
    ),
    ("name = order", "900,000"),
    ("name = rare", "100"),
    (
        "name = rare and status = failed order by changed desc",
        "100",
    ),
    ("parent = i0000001", "1,000"),
    ("customer = c-017", "10"),
    ("customer = c-017 order by changed desc", "10"),
    (
        "customer = c-017 and status = failed and changed > @1 order by changed desc",
        "10",
    ),
    ("amount = 7", "10,000"),
    ("amount = 7 order by changed desc", "10,000"),
    ("amount = 7 and region = us", "10,000"),
    ("amount = 7 and region = us order by changed desc", "10,000"),
    (
        "amount = 7 and status = completed and name = ship order by id",
        "10,000",
    ),
    ("amount = 7 and version = \"9\"", "10,000, none is meant"),
    ("customer starts with c-01 order by changed desc", "1,110"),
    (
        "customer = c-017 or name = rare order by changed desc",
        "110",
    ),
    ("id starts with i00001 order by changed", "100"),
    ("created > @1700000990000 order by changed desc", "10,000"),
];

/// What is not promised: the page may be empty, and goes on.
const OTHERS: &[(&str, &str)] = &[
    ("version = \"9\"", "no index, none is meant"),
    ("region = eu and region = us", "250,000, none is meant"),
];

/// Fills a store through a plain connection: only what lists read.
fn fill(connection: &Connection) {
    let failure = Failure::application("card", "declined");
    let status = |status: &InstanceStatus| encode_status(status).unwrap();
    let running = status(&InstanceStatus::Running);
    let completed = status(&InstanceStatus::Completed { output: "1".into() });
    let failed = status(&InstanceStatus::Failed {
        failure: failure.clone(),
    });
    let terminated = status(&InstanceStatus::Terminated { failure });
    connection
        .execute_batch("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN")
        .unwrap();
    let numbers = format!(
        "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {INSTANCES})"
    );
    let kind = "CASE WHEN k % 10000 = 0 THEN 5 WHEN k % 100 < 58 THEN 4 WHEN k % 100 < 88 THEN 3 ELSE 1 END";
    let instances = format!(
        "{numbers} INSERT INTO instance (key, execution_id, last_event_id, status_kind, updated_at_ms, committed_at_ms, code, holder, token, given_seq, not_before_ms, must_run, is_blocked, crashes) SELECT k, 1, 6, {kind}, 1700000000000 + (k * 7919) % 1000003, 0, 1, -1, 0, 0, 0, 0, 0, 0 FROM n"
    );
    connection.execute(&instances, []).unwrap();
    let blob = format!("CASE {kind} WHEN 5 THEN ?4 WHEN 4 THEN ?3 WHEN 3 THEN ?2 ELSE ?1 END");
    let name = "CASE WHEN k % 10000 = 1 THEN 'rare' WHEN k % 10 = 2 THEN 'ship' ELSE 'order' END";
    let records = format!(
        "{numbers} INSERT INTO record (key, id, name, version, status, created_at_ms, start_message_id, start_execution_id, parent_instance, parent_execution_id, parent_event_id) SELECT k, printf('i%07d', k), {name}, '1', {blob}, 1700000000000 + k, 's', 1, CASE WHEN k % 1000 = 3 THEN 'i0000001' END, 1, 1 FROM n"
    );
    connection
        .execute(&records, params![running, completed, failed, terminated])
        .unwrap();
    let names =
        "INSERT INTO attribute_name VALUES (1, 'region', 1), (2, 'customer', 1), (3, 'amount', 2)";
    connection.execute(names, []).unwrap();
    let region =
        "CASE k / 7 % 4 WHEN 0 THEN 'eu' WHEN 1 THEN 'us' WHEN 2 THEN 'asia' ELSE 'africa' END";
    for attribute in [
        format!("1, {region}"),
        String::from("2, printf('c-%03d', (k * 31) % 100000)"),
        String::from("3, (k * 17) % 100"),
    ] {
        let fill =
            format!("{numbers} INSERT INTO attribute SELECT {attribute}, k FROM n ORDER BY 2, 3");
        connection.execute(&fill, []).unwrap();
    }
    connection
        .execute(
            "UPDATE meta SET now_ms = 1700002000000, last_number = 2000000",
            [],
        )
        .unwrap();
    connection.execute_batch("COMMIT").unwrap();
}

pub(super) async fn search() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("search.db");
    drop(SqliteProvider::open(&path).unwrap());
    let began = Instant::now();
    fill(&Connection::open(&path).unwrap());
    let size = std::fs::metadata(&path).unwrap().len() / 1_000_000;
    println!(
        "\nfirst pages of {PAGE} among {INSTANCES} instances ({size} MB, filled in {:.0?})",
        began.elapsed()
    );
    let provider = SqliteProvider::open(&path).unwrap();
    let mut slow = 0;
    for (text, has) in PROMISED {
        let (median, found, _) = first_page(&provider, text).await;
        let is_slow = median > BOUND;
        slow += usize::from(is_slow);
        let verdict = if is_slow { "TOO SLOW" } else { "ok" };
        println!("{median:>10.2?} {found:>3} {verdict:<8} {text}  ({has})");
    }
    println!("not promised: a page has what was found among a bounded number of instances");
    for (text, has) in OTHERS {
        let (median, found, goes_on) = first_page(&provider, text).await;
        let rest = if goes_on {
            "and a next page"
        } else {
            "and no more"
        };
        println!("{median:>10.2?} {found:>3} {rest}  {text}  ({has})");
    }
    println!("{slow} of {} beyond {BOUND:?}", PROMISED.len());
}

/// The median of several first pages, how many instances one has, and whether it goes on.
async fn first_page(provider: &SqliteProvider, text: &str) -> (Duration, usize, bool) {
    let query = InstanceQuery::parse(text, 1_700_002_000_000).unwrap();
    let mut times = Vec::new();
    let (mut found, mut goes_on) = (0, false);
    for _ in 0..RUNS {
        let began = Instant::now();
        let page = provider.instances(&query, None, PAGE).await.unwrap();
        times.push(began.elapsed());
        (found, goes_on) = (page.instances.len(), page.next.is_some());
    }
    times.sort_unstable();
    (times[RUNS / 2], found, goes_on)
}
