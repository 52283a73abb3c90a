//! Which plans are chosen, that none of them scans, and that pages end.

use std::path::Path;

use durable_core::filter::{InstanceQuery, PageToken};
use durable_core::provider::ProviderError;
use rusqlite::Connection;

use super::names::AttributeNumbers;
use super::plan::{Plan, Planner};
use super::source::Source;
use super::{Found, find, statement};
use crate::error::Fault;
use crate::schema;

/// More than are sorted.
const INSTANCES: i64 = 12_000;

/// Instances `i00001` and so on: every third has completed, one in a thousand has failed, all
/// are in the region `eu`, and ten each belong to a customer.
fn filled() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    schema::create(&mut connection, Path::new(":memory:")).unwrap();
    let numbers = format!(
        "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {INSTANCES})"
    );
    let status = "CASE WHEN k % 1000 = 0 THEN 4 WHEN k % 3 = 0 THEN 3 ELSE 1 END";
    let parent = "CASE WHEN k % 4000 = 1 THEN 'i00001' END";
    let fills = [
        format!(
            "{numbers} INSERT INTO instance (key, execution_id, last_event_id, status_kind, updated_at_ms, committed_at_ms, code, holder, token, given_seq, not_before_ms, must_run, is_blocked, crashes) SELECT k, 1, 1, {status}, 50000 + k, 0, 1, -1, 0, 0, 0, 0, 0, 0 FROM n"
        ),
        format!(
            "{numbers} INSERT INTO record (key, id, name, version, status, created_at_ms, start_message_id, start_execution_id, parent_instance) SELECT k, printf('i%05d', k), CASE WHEN k % 100 = 0 THEN 'rare' ELSE 'order' END, '1', x'00', 10000 + k, 's', 1, {parent} FROM n"
        ),
        String::from(
            "INSERT INTO attribute_name VALUES (1, 'region', 1), (2, 'customer', 1), (3, 'amount', 2)",
        ),
        format!("{numbers} INSERT INTO attribute SELECT 1, 'eu', k FROM n"),
        format!("{numbers} INSERT INTO attribute SELECT 2, printf('c-%04d', k / 10), k FROM n"),
        format!("{numbers} INSERT INTO attribute SELECT 3, k % 100, k FROM n"),
    ];
    for fill in fills {
        connection.execute_batch(&fill).unwrap();
    }
    connection
}

fn query(text: &str) -> InstanceQuery {
    InstanceQuery::parse(text, 0).unwrap()
}

fn plan(connection: &Connection, query: &InstanceQuery) -> Result<Plan, ProviderError> {
    let numbers = AttributeNumbers::read(connection, &query.filter).unwrap();
    let planned = Planner::new(connection, &numbers).plan(query);
    planned.map_err(Fault::into_provider_error)
}

/// The steps of a statement, as SQLite plans it.
fn explained(connection: &Connection, statement: &statement::BoundStatement) -> Vec<String> {
    let explain = format!("EXPLAIN QUERY PLAN {}", statement.text);
    let mut prepared = connection.prepare(&explain).unwrap();
    let values = rusqlite::params_from_iter(statement.bindings.values());
    let steps = prepared.query_map(values, |row| row.get(3)).unwrap();
    steps.map(Result::unwrap).collect()
}

/// Demands that each step looks rows up in an index, and that none is sorted.
fn is_looked_up(connection: &Connection, statement: &statement::BoundStatement) {
    for step in explained(connection, statement) {
        let is_lookup = step.starts_with("SEARCH ");
        // A heading, or the rows of a subquery that was looked up.
        let is_heading = step.contains("SUBQUERY ") || step.starts_with("CO-ROUTINE ");
        let is_subquery = step.starts_with("SCAN (subquery");
        let text = &statement.text;
        assert!(is_lookup || is_heading || is_subquery, "{step} in {text}");
    }
}

const PROMISED: &[&str] = &[
    "",
    "order by created",
    "order by created desc",
    "order by id",
    "order by id desc",
    "status = running",
    "status = completed",
    "status = completed order by created",
    "status = failed order by changed desc",
    "status not in (pending, running) order by changed",
    "status = failed and changed > @51000 order by changed desc",
    "status = failed and customer = c-0017 and changed > @1 order by changed desc",
    "customer = c-0017",
    "customer = c-0017 order by changed desc",
    "customer = c-0017 order by id",
    "customer in (c-0001, c-0002) and status = running",
    "customer starts with c-000",
    "customer > c-1100 and region = eu",
    "region = eu",
    "region = eu and status = completed order by created",
    "region = eu and amount = 7 and not has parent",
    "amount between 3 and 5 order by changed",
    "amount < 5 and name = order",
    "name = rare",
    "name = rare order by changed",
    "name = order order by created desc",
    "parent = i00001",
    "parent = i00001 order by id",
    "id = i00007",
    "id in (i00007, i00009) and version != \"2\"",
    "id starts with i000 order by id desc",
    "id > i11990 order by changed",
    "created > @21000",
    "created between @15000 and @15100 order by changed desc",
    "customer = c-0017 or parent = i00001",
    "customer = c-0017 or status = failed order by changed",
    "(customer = c-0017 or name = rare) and status = completed",
    "has customer",
    "has nothing",
];

#[test]
fn promised_lists_are_found_without_a_scan() {
    let connection = filled();
    for text in PROMISED {
        let query = query(text);
        let numbers = AttributeNumbers::read(&connection, &query.filter).unwrap();
        let (Plan::Sort(sources) | Plan::Walk { sources, .. }) =
            plan(&connection, &query).unwrap_or_else(|error| panic!("{text}: {error}"));
        for source in &sources {
            is_looked_up(&connection, &statement::count(source, 10));
            let matching = statement::matching(source, &query, &numbers);
            is_looked_up(&connection, &matching);
            if source.order() == Some(query.order.by) {
                let walk = statement::walk(source, &query, &numbers, None);
                is_looked_up(&connection, &walk);
            }
        }
        // The second page is looked up, too.
        let first = find(&connection, &query, None, 2).unwrap();
        if let (Some(page), Plan::Walk { sources, .. }) =
            (first.next, plan(&connection, &query).unwrap())
        {
            let after = page.position_in(&query).unwrap();
            for source in &sources {
                let walk = statement::walk(source, &query, &numbers, Some(after));
                is_looked_up(&connection, &walk);
                let steps = explained(&connection, &walk);
                let begins_there = steps[0].contains('>') || steps[0].contains('<');
                assert!(begins_there, "{text}: {steps:?}");
            }
        }
    }
}

#[test]
fn a_later_page_by_last_change_begins_at_its_place() {
    let connection = filled();
    let query = query("status = completed order by changed");
    let numbers = AttributeNumbers::default();
    let after = durable_core::filter::PagePosition::numbered(50_100, 100);
    let Plan::Walk { sources, .. } = plan(&connection, &query).unwrap() else {
        panic!("a walk");
    };
    let walk = statement::walk(&sources[0], &query, &numbers, Some(&after));
    let steps = explained(&connection, &walk);
    let begins_there = steps[0].contains("status_kind=? AND updated_at_ms>?")
        || steps[0].contains("status_kind=? AND (updated_at_ms,");
    assert!(steps.len() == 1 && begins_there, "{steps:?}");
}

#[test]
fn the_proof_would_notice_a_scan_and_a_sort() {
    let connection = filled();
    let steps = |text: &str| {
        let statement = statement::BoundStatement {
            text: text.into(),
            bindings: Default::default(),
        };
        explained(&connection, &statement)
    };
    assert_eq!(
        steps("SELECT * FROM record WHERE version = 1"),
        ["SCAN record"]
    );
    let sorted = steps("SELECT key FROM record WHERE name = 'a' ORDER BY created_at_ms");
    assert_eq!(sorted[1], "USE TEMP B-TREE FOR ORDER BY");
}

#[test]
fn the_narrowest_term_drives() {
    let connection = filled();
    let is_walk_of = |text: &str, is_it: fn(&Source) -> bool| {
        let planned = plan(&connection, &query(text)).unwrap();
        let Plan::Walk { sources, .. } = planned else {
            panic!("{text}: {planned:?}");
        };
        assert!(
            !sources.is_empty() && sources.iter().all(is_it),
            "{text}: {sources:?}"
        );
    };
    is_walk_of("customer = c-0017 and region = eu", |source| {
        matches!(source, Source::Attribute { number: 2, .. })
    });
    is_walk_of("region = eu and customer = c-0017", |source| {
        matches!(source, Source::Attribute { number: 2, .. })
    });
    is_walk_of("region = eu", |source| {
        matches!(source, Source::Attribute { number: 1, .. })
    });
    is_walk_of("name = rare and region = eu", |source| {
        matches!(source, Source::Name(_))
    });
    is_walk_of("region = eu order by id", |source| {
        matches!(source, Source::Ids(_))
    });
    is_walk_of("status = running", |source| {
        matches!(source, Source::Keys { .. })
    });
    is_walk_of("status = failed order by changed", |source| {
        matches!(source, Source::Stopped(..))
    });
    is_walk_of("parent = i00001 or customer = c-0017", |source| {
        matches!(
            source,
            Source::Parent(_) | Source::Attribute { number: 2, .. }
        )
    });
    is_walk_of("created between @15000 and @15100", |source| {
        *source
            == Source::Keys {
                from: 5_000,
                to: 5_100,
            }
    });
    let sorted = plan(&connection, &query("customer = c-0017 order by changed")).unwrap();
    assert!(matches!(sorted, Plan::Sort(_)), "{sorted:?}");
    for text in ["order by changed", "region = eu order by changed desc"] {
        let refused = plan(&connection, &query(text));
        let Err(ProviderError::Invalid { reason }) = refused else {
            panic!("{text}: {refused:?}");
        };
        assert!(reason.contains("order by `created`"), "{reason}");
    }
}

#[test]
fn a_search_for_nothing_ends_in_bounded_pages() {
    let connection = filled();
    let query = query("version = \"9\"");
    let mut page: Option<PageToken> = None;
    let mut pages = 0;
    loop {
        let Found { keys, next } = find(&connection, &query, page.as_ref(), 10).unwrap();
        assert_eq!(keys.len(), 0);
        pages += 1;
        page = next;
        if page.is_none() {
            break;
        }
    }
    assert_eq!(pages, 3);
}

#[test]
fn every_page_goes_on_where_the_last_one_ended() {
    let connection = filled();
    for text in PROMISED {
        let query = query(text);
        let whole = find(&connection, &query, None, usize::MAX).unwrap();
        let mut keys = Vec::new();
        let mut page: Option<PageToken> = None;
        while keys.len() < 100 {
            let found = find(&connection, &query, page.as_ref(), 7).unwrap();
            keys.extend(found.keys);
            page = found.next;
            if page.is_none() {
                break;
            }
        }
        let expected = &whole.keys[..keys.len().min(whole.keys.len())];
        assert_eq!(keys, expected, "{text}");
        assert!(
            page.is_some() || whole.next.is_some() || keys.len() == whole.keys.len(),
            "{text}"
        );
    }
}
