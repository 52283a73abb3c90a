//! Promise 10: reads can page, and what is there all the time is read once.

use durable_core::filter::{Filter, InstanceQuery, Order, PageToken};
use durable_core::provider::{InboxMessage, InboxSeq, StatusKind};
use durable_core::{EventId, Failure, InstanceId};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckResult, ensure, ensure_eq};
use crate::conformance::samples::AWKWARD_NAMES;
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Paging, a_history_can_be_read_in_pages),
    check!(Paging, a_history_can_be_read_from_any_event),
    check!(Paging, a_history_that_grows_is_read_whole),
    check!(Paging, an_inbox_can_be_read_in_pages_and_nothing_is_taken),
    check!(Paging, instances_are_listed_by_id_in_pages),
    check!(Paging, instances_can_be_chosen_by_name),
    check!(Paging, instances_can_be_chosen_by_status),
    check!(Paging, instances_can_be_chosen_by_prefix),
    check!(Paging, instances_can_be_chosen_by_their_last_change),
    check!(Paging, pages_of_chosen_instances_have_them_all),
    check!(Paging, a_list_that_changes_has_what_stays_once),
    check!(Paging, unknown_instances_are_none),
];

/// Commits one turn of `a` with this many events.
async fn long_history(env: &Env, events: u64) -> CheckResult<durable_core::provider::TurnCommit> {
    let node = env.node().await?;
    let filling = |turn: TurnBuilder| {
        let states = (1..events).map(|number| number.to_string());
        states.fold(turn, TurnBuilder::custom_status)
    };
    Ok(node
        .begin("a", |turn| filling(turn).keeping_the_lease())
        .await?
        .0)
}

async fn a_history_can_be_read_in_pages(env: Env) -> CheckResult {
    let turn = long_history(&env, 12).await?;
    for page_size in [1, 2, 3, 5, 11, 12, 13, 1_000] {
        let read = env.history_in_pages("a", turn.execution_id, page_size);
        let what = format!("the history in pages of {page_size}");
        ensure_eq(what, read.await?, turn.events.clone())?;
    }
    Ok(())
}

async fn an_inbox_can_be_read_in_pages_and_nothing_is_taken(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn).await?;
    let sent: Vec<String> = (0..7).map(|number| format!("m{number}")).collect();
    for message_id in &sent {
        env.raise("a", message_id).await?;
    }
    for page_size in [1, 2, 3, 6, 7, 8, 1_000] {
        let read = env.inbox_in_pages("a", page_size).await?;
        let what = format!("the inbox in pages of {page_size}");
        ensure_eq(what, ids_of(&read), sent.clone())?;
    }
    let none = env.provider().inbox(&"a".into(), InboxSeq(0), 0).await?;
    ensure_eq("a page of none", none.messages, Vec::new())?;
    ensure_eq("whether there is more", none.has_more, true)?;

    let ready = node.take("a").await?;
    let held = env.inbox_in_pages("a", 3).await?;
    ensure_eq("the inbox of a held instance", ids_of(&held), sent)?;
    let given = held.iter().take(ready.messages.len()).cloned().collect();
    ensure_eq("what is handed out", &ready.messages, &given)?;
    let mut turn = node.turn(&ready).build();
    turn.consumed = vec![held[0].seq, held[4].seq];
    node.commit_done(turn).await?;
    let left: Vec<String> = ["m1", "m2", "m3", "m5", "m6"].map(String::from).into();
    let read = env.inbox_in_pages("a", 2).await?;
    ensure_eq("what was not consumed", ids_of(&read), left)?;
    let unknown = env.inbox_in_pages("unknown", 2).await?;
    ensure_eq("the inbox of an unknown instance", unknown, Vec::new())
}

fn ids_of(messages: &[InboxMessage]) -> Vec<String> {
    let ids = messages.iter().map(|given| &given.message.message_id);
    ids.map(ToString::to_string).collect()
}

async fn a_history_can_be_read_from_any_event(env: Env) -> CheckResult {
    let turn = long_history(&env, 6).await?;
    let id = InstanceId::from("a");
    for after in 0..=8_u64 {
        for max in [0, 1, 3, 6] {
            let from = EventId::new(after);
            let page = env.provider().history(&id, turn.execution_id, from, max);
            let page = page.await?;
            let later: Vec<_> = turn.events.iter().skip(after as usize).collect();
            let expected: Vec<_> = later.iter().copied().take(max).collect();
            let what = format!("{max} entries after event {after}");
            ensure_eq(what, page.entries.iter().collect(), expected)?;
            let what = format!("whether there are more than {max} after event {after}");
            ensure_eq(what, page.has_more, later.len() > max)?;
        }
    }
    Ok(())
}

async fn a_history_that_grows_is_read_whole(env: Env) -> CheckResult {
    let mut turn = long_history(&env, 5).await?;
    let node = env.node().await?;
    let (id, execution_id) = (InstanceId::from("a"), turn.execution_id);
    let mut written = turn.events.clone();
    let mut read = Vec::new();
    for number in 0..6 {
        let after = EventId::new(read.len() as u64);
        let page = env.provider().history(&id, execution_id, after, 2).await?;
        read.extend(page.entries);
        if number < 3 {
            let next = TurnBuilder::after(&turn, env.now_ms()).custom_status("1");
            turn = next.keeping_the_lease().build();
            node.commit_done(turn.clone()).await?;
            written.extend(turn.events.clone());
        }
    }
    ensure_eq("the history, read while it grew", read, written)
}

async fn instances_are_listed_by_id_in_pages(env: Env) -> CheckResult {
    let mut ids: Vec<&str> = AWKWARD_NAMES.to_vec();
    for id in &ids {
        env.start(*id).await?;
    }
    ids.sort_unstable();
    let expected: Vec<InstanceId> = ids.into_iter().map(InstanceId::from).collect();
    let all = Filter::all();
    for page_size in [1, 2, 7, expected.len(), 1_000] {
        let listed = env.listed(&all, page_size).await?;
        let what = format!("the instances in pages of {page_size}");
        ensure_eq(what, &listed, &expected)?;
    }
    Ok(())
}

async fn instances_can_be_chosen_by_name(env: Env) -> CheckResult {
    let other = crate::conformance::samples::full_start();
    let reuse = durable_core::provider::IdReuse::Refuse;
    env.start("a").await?;
    let _ = env.start_with("b", other, reuse).await?;
    env.start("c").await?;
    for (name, expected) in [
        ("fulfil", vec!["a", "c"]),
        ("ship", vec!["b"]),
        ("FULFIL", vec![]),
        ("fulfi", vec![]),
    ] {
        let filter = Filter::name(name);
        let listed = env.listed(&filter, 10).await?;
        ensure_eq(format!("instances of {name}"), listed, ids(&expected))?;
    }
    Ok(())
}

async fn instances_can_be_chosen_by_status(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("completed", |turn| turn.completed("1")).await?;
    node.begin("running", |turn| turn).await?;
    let failure = Failure::application("stop", "stop");
    node.begin("suspended", |turn| turn.suspended(failure))
        .await?;
    env.start("pending").await?;
    for (statuses, expected) in [
        (vec![StatusKind::Pending], vec!["pending"]),
        (vec![StatusKind::Running], vec!["running"]),
        (vec![StatusKind::Suspended], vec!["suspended"]),
        (vec![StatusKind::Completed], vec!["completed"]),
        (vec![StatusKind::Failed], vec![]),
        (
            vec![StatusKind::Running, StatusKind::Completed],
            vec!["completed", "running"],
        ),
        (
            StatusKind::ALL.to_vec(),
            vec!["completed", "pending", "running", "suspended"],
        ),
    ] {
        let what = format!("instances that are {statuses:?}");
        let filter = Filter::status_in(statuses);
        ensure_eq(what, env.listed(&filter, 10).await?, ids(&expected))?;
    }
    Ok(())
}

async fn instances_can_be_chosen_by_prefix(env: Env) -> CheckResult {
    for id in AWKWARD_NAMES {
        env.start(*id).await?;
    }
    for prefix in AWKWARD_NAMES.iter().copied().chain(["", "a b c", "zzz"]) {
        let mut expected: Vec<&str> = AWKWARD_NAMES.to_vec();
        expected.retain(|id| id.starts_with(prefix));
        expected.sort_unstable();
        let filter = Filter::id_starts_with(prefix);
        let what = format!("instances that begin with {prefix:?}");
        ensure_eq(what, env.listed(&filter, 5).await?, ids(&expected))?;
    }
    Ok(())
}

async fn instances_can_be_chosen_by_their_last_change(env: Env) -> CheckResult {
    let mut times = Vec::new();
    for id in ["a", "b", "c"] {
        env.start(id).await?;
        times.push(env.record(id).await?.updated_at_ms);
        env.time.tick().await;
    }
    for (before_ms, expected) in [
        (times[0], vec![]),
        (times[1], vec!["a"]),
        (times[2], vec!["a", "b"]),
        (times[2] + 1, vec!["a", "b", "c"]),
    ] {
        let filter = Filter::changed_before_ms(before_ms);
        let what = format!("instances that changed before {before_ms}");
        ensure_eq(what, env.listed(&filter, 10).await?, ids(&expected))?;
    }
    Ok(())
}

async fn pages_of_chosen_instances_have_them_all(env: Env) -> CheckResult {
    let node = env.node().await?;
    for number in 0..12 {
        let id = format!("i{number:02}");
        match number % 3 {
            0 => {
                node.begin(&id, |turn| turn).await?;
            }
            _ => {
                node.begin(&id, |turn| turn.completed("1")).await?;
            }
        }
    }
    let filter = Filter::status(StatusKind::Running);
    for page_size in 1..6 {
        let listed = env.listed(&filter, page_size).await?;
        ensure_eq("all pages", listed, ids(&["i00", "i03", "i06", "i09"]))?;
    }
    Ok(())
}

async fn a_list_that_changes_has_what_stays_once(env: Env) -> CheckResult {
    for order in [Order::BY_ID, Order::OLDEST_FIRST, Order::NEWEST_FIRST] {
        what_stays_is_listed_once(&env.fresh().await, order).await?;
    }
    Ok(())
}

async fn what_stays_is_listed_once(env: &Env, order: Order) -> CheckResult {
    let node = env.node().await?;
    for number in 0..10 {
        env.start(format!("stays-{number}")).await?;
        let id = format!("goes-{number}");
        env.start(id.as_str()).await?;
    }
    for ready in node.fetch().await? {
        if ready.lease.instance.starts_with("goes") {
            let turn = node.first_turn(&ready).completed("1");
            node.commit_done(turn.build()).await?;
        }
    }
    let mut listed = Vec::new();
    let mut next: Option<PageToken> = None;
    for number in 0.. {
        let all = InstanceQuery::all().ordered(order);
        let page = env.provider().instances(&all, next.as_ref(), 3).await?;
        listed.extend(page.instances.into_iter().map(|record| record.instance));
        env.purge(2).await?;
        env.start(format!("comes-{number}")).await?;
        env.start(format!("zzz-{number}")).await?;
        next = page.next;
        if next.is_none() || number > 100 {
            break;
        }
    }
    let mut once = listed.clone();
    once.sort();
    once.dedup();
    ensure_eq(
        "instances that were listed twice",
        listed.len() - once.len(),
        0,
    )?;
    once.retain(|id| id.starts_with("stays"));
    ensure_eq("those that were there all the time", once.len(), 10)
}

async fn unknown_instances_are_none(env: Env) -> CheckResult {
    env.start("a").await?;
    for id in ["b", "A", "a ", "aa"] {
        let found = env.provider().instance(&id.into()).await?;
        ensure(found.is_none(), format!("instance {id:?}"), "none", found)?;
    }
    let none = InstanceQuery::new(Filter::id_starts_with("b"));
    let page = env.provider().instances(&none, None, 10).await?;
    let is_empty = page.instances.is_empty() && page.next.is_none();
    ensure(is_empty, "an empty list", "no instance and no next", page)
}

fn ids(ids: &[&str]) -> Vec<InstanceId> {
    ids.iter().map(|id| InstanceId::from(*id)).collect()
}
