//! Finding instances: what filters mean, orders, and pages of them.

use durable_core::filter::{Direction, Field, Filter, InstanceQuery, Order, OrderBy, PageToken};
use durable_core::provider::{
    IdReuse, InstanceRecord, Message, MessageBody, ProviderError, PurgeRequest, StartInstance,
    StatusKind,
};
use durable_core::{AttributeValue, Attributes, Failure, InstanceId};

use super::super::check::{Check, check};
use super::super::env::Env;
use super::super::failure::{CheckFailure, CheckResult, ensure, ensure_eq};
use crate::turn::TurnBuilder;

pub(super) const CHECKS: &[Check] = &[
    check!(Paging, a_filter_means_what_it_says),
    check!(Paging, filters_that_are_joined_mean_what_they_say),
    check!(Paging, a_list_is_in_the_order_that_was_asked_for),
    check!(Paging, instances_are_found_by_their_latest_attributes),
    check!(Paging, a_list_by_last_change_follows_the_changes),
    check!(
        Paging,
        an_instance_that_is_started_anew_keeps_the_time_of_its_creation
    ),
    check!(Paging, a_page_of_another_query_is_refused),
    check!(Paging, a_filter_that_cannot_be_written_is_refused),
    check!(Lifecycle, a_purge_begins_with_what_changed_longest_ago),
];

/// Tests of every field, by every operator; some that nothing passes.
const TERMS: &[&str] = &[
    "true",
    "false",
    "id = order-2",
    "id != order-2",
    "id in (order-1, child, none)",
    "id < order-2",
    "id >= order-2",
    "id between child and order-1",
    "id starts with order",
    "id starts with \"\"",
    "name = order",
    "name = ORDER",
    "name in (order, ship, child)",
    "name = fulfil",
    "name != order",
    "name starts with o",
    "name > p",
    "version = \"1.0.0\"",
    "version != \"1.0.0\"",
    "has version",
    "parent = order-1",
    "parent in (order-1, order-2)",
    "has parent",
    "parent != order-1",
    "status = pending",
    "status = running",
    "status = suspended",
    "status = completed",
    "status = failed",
    "status = terminated",
    "status in (completed, failed, terminated)",
    "status not in (pending, running)",
    "created > -1d",
    "created < -1d",
    "changed between -1d and +1d",
    "changed > +1d",
    "customer = c-17",
    "customer = \"c-17 \\0\"",
    "customer = \"\"",
    "customer != c-17",
    "customer in (c-17, c-18, 17)",
    "customer < c-18",
    "customer <= c-18",
    "customer > c-17",
    "customer starts with c-1",
    "customer starts with \"\"",
    "customer = 17",
    "has customer",
    "amount = 17",
    "amount in (-1, 17, 9223372036854775807)",
    "amount < 0",
    "amount >= -1",
    "amount between -5 and 100",
    "amount between 100 and -5",
    "amount > -9223372036854775808",
    "has amount",
    "due > 1969-01-01",
    "due <= 1970-01-01T00:00:00.001Z",
    "due = @1",
    "paid = true",
    "paid = false",
    "paid < true",
    "has nothing",
    "nothing != 1",
];

fn start_of(name: &str, attributes: Attributes) -> Message {
    let start = StartInstance::new(name.into(), "{}".into()).attributes(attributes);
    Message::new(format!("start of {name}").into(), MessageBody::Start(start))
}

fn attributes<const N: usize>(values: [(&str, AttributeValue); N]) -> Attributes {
    let values = values.into_iter();
    values.map(|(name, value)| (name.into(), value)).collect()
}

fn text(text: &str) -> AttributeValue {
    text.into()
}

/// Instances of every status, with and without attributes, versions and parents.
async fn populate(env: &Env) -> CheckResult {
    let starts = [
        (
            "order-1",
            "order",
            attributes([
                ("customer", text("c-17")),
                ("amount", AttributeValue::Integer(17)),
                ("paid", AttributeValue::Bool(true)),
                ("due", AttributeValue::Time(1)),
            ]),
        ),
        (
            "order-2",
            "order",
            attributes([
                ("customer", text("c-18")),
                ("amount", AttributeValue::Integer(i64::MIN)),
                ("paid", AttributeValue::Bool(false)),
            ]),
        ),
        (
            "order-3",
            "ship",
            attributes([
                ("customer", text("c-17 \0")),
                ("amount", AttributeValue::Integer(i64::MAX)),
            ]),
        ),
        (
            "order-4",
            "order",
            attributes([
                ("customer", AttributeValue::Integer(17)),
                ("amount", AttributeValue::Integer(-1)),
                ("due", AttributeValue::Time(-1)),
            ]),
        ),
        ("order-5", "order", attributes([("customer", text(""))])),
        ("bill", "bill", Attributes::new()),
    ];
    for (id, name, attributes) in starts {
        let _ = env
            .start_with(id, start_of(name, attributes), IdReuse::Refuse)
            .await?;
        env.time.tick().await;
    }
    let node = env.node().await?;
    let ids = [
        "order-1", "order-2", "order-3", "order-4", "order-5", "bill",
    ];
    let failure = Failure::application("stop", "stop");
    for ready in node.take_all(&ids).await? {
        let first = node.first_turn(&ready);
        let child = || {
            let mut start = StartInstance::new("child".into(), "{}".into());
            start.parent = Some(durable_core::Parent::new(
                "order-1".into(),
                ready.execution_id,
                durable_core::EventId::FIRST,
            ));
            Message::new("child".into(), MessageBody::Start(start))
        };
        let turn = match ready.lease.instance.as_str() {
            "order-1" => first.message("child", child()),
            "order-2" => first.completed("1"),
            "order-3" => first.failed(failure.clone()),
            "order-4" => first.terminated(failure.clone()),
            "order-5" => first.suspended(failure.clone()),
            "bill" => first.completed("1"),
            _ => first,
        };
        node.commit_done(turn.build()).await?;
        env.time.tick().await;
    }
    let waiting = start_of("order", attributes([("customer", text("c-17"))]));
    let _ = env.start_with("wait", waiting, IdReuse::Refuse).await?;
    env.start("pending").await.map(drop)
}

/// All records, one by one.
async fn records(env: &Env) -> CheckResult<Vec<InstanceRecord>> {
    let mut records = Vec::new();
    for id in env.listed(&Filter::all(), 100).await? {
        records.push(env.record(&id).await?);
    }
    Ok(records)
}

/// Demands that a list has the records that the filter matches.
async fn is_exact(env: &Env, records: &[InstanceRecord], text: &str) -> CheckResult {
    let filter = Filter::parse(text, env.now_ms()).map_err(|error| {
        CheckFailure::new(
            format!("the filter `{text}`"),
            "a filter",
            error.to_string(),
        )
    })?;
    let meant = records.iter().filter(|record| filter.matches(record));
    let expected: Vec<InstanceId> = meant.map(|record| record.instance.clone()).collect();
    let listed = env.listed(&filter, 5).await?;
    ensure_eq(format!("instances with `{text}`"), &listed, &expected)?;
    let mut by_creation = env.found(&InstanceQuery::new(filter), 100).await?;
    by_creation.sort_by(|one, other| one.instance.cmp(&other.instance));
    let by_creation: Vec<InstanceId> = by_creation
        .into_iter()
        .map(|record| record.instance)
        .collect();
    let what = format!("instances with `{text}`, by creation");
    ensure_eq(what, by_creation, expected)
}

async fn a_filter_means_what_it_says(env: Env) -> CheckResult {
    populate(&env).await?;
    let records = records(&env).await?;
    ensure_eq("how many there are", records.len(), 9)?;
    for term in TERMS {
        is_exact(&env, &records, term).await?;
        is_exact(&env, &records, &format!("not ({term})")).await?;
    }
    Ok(())
}

async fn filters_that_are_joined_mean_what_they_say(env: Env) -> CheckResult {
    populate(&env).await?;
    let records = records(&env).await?;
    let term = |number: usize| TERMS[number % TERMS.len()];
    for number in 0..TERMS.len() {
        let (one, two, three) = (term(number), term(7 * number + 3), term(11 * number + 5));
        is_exact(&env, &records, &format!("{one} and {two}")).await?;
        is_exact(&env, &records, &format!("{one} or {three}")).await?;
        let nested = format!("({one} or {two}) and not ({three} and {one})");
        is_exact(&env, &records, &nested).await?;
        let nested = format!("{one} and {two} or {three} and not {two}");
        is_exact(&env, &records, &nested).await?;
    }
    Ok(())
}

async fn a_list_is_in_the_order_that_was_asked_for(env: Env) -> CheckResult {
    populate(&env).await?;
    let filters = [
        Filter::all(),
        Filter::ended(),
        !Filter::status(StatusKind::Running),
        Field::attribute("customer").exists(),
        Filter::attribute("customer", "c-17").or(Filter::ended()),
    ];
    for filter in filters {
        for by in [OrderBy::Created, OrderBy::Changed, OrderBy::Id] {
            for direction in [Direction::Ascending, Direction::Descending] {
                let order = Order::new(by, direction);
                let query = InstanceQuery::new(filter.clone()).ordered(order);
                let whole = env.found(&query, 100).await?;
                let time = |record: &InstanceRecord| match by {
                    OrderBy::Created => record.created_at_ms,
                    OrderBy::Changed => record.updated_at_ms,
                    OrderBy::Id => 0,
                };
                let is_ordered = whole.is_sorted_by(|one, other| {
                    let ascending = match by {
                        OrderBy::Id => one.instance.cmp(&other.instance),
                        OrderBy::Created | OrderBy::Changed => time(one).cmp(&time(other)),
                    };
                    direction.apply(ascending).is_le()
                });
                let times: Vec<_> = whole
                    .iter()
                    .map(|record| (time(record), record.instance.clone()))
                    .collect();
                ensure(is_ordered, format!("`{query}`"), "in its order", times)?;
                for page_size in 1..4 {
                    let paged = env.found(&query, page_size).await?;
                    let what = format!("`{query}` in pages of {page_size}");
                    ensure_eq(what, &paged, &whole)?;
                }
                let count = env.listed(&filter, 100).await?.len();
                ensure_eq(format!("how many `{query}` has"), whole.len(), count)?;
            }
        }
    }
    Ok(())
}

async fn instances_are_found_by_their_latest_attributes(env: Env) -> CheckResult {
    let node = env.node().await?;
    let named = |value: &str| attributes([("customer", text(value))]);
    let found = async |value: &str| {
        let filter = Filter::attribute("customer", value);
        env.listed(&filter, 10).await
    };
    let only = vec![InstanceId::from("a")];
    let started = start_of("order", named("first"));
    let _ = env.start_with("a", started, IdReuse::Refuse).await?;
    ensure_eq("by the start", found("first").await?, only.clone())?;

    let ready = node.take("a").await?;
    let first = node.first_turn(&ready).attributes(named("second"));
    let first = first.keeping_the_lease().build();
    node.commit_done(first.clone()).await?;
    ensure_eq("by the first", found("first").await?, Vec::new())?;
    ensure_eq("by the second", found("second").await?, only.clone())?;

    let next = TurnBuilder::after(&first, env.now_ms()).attributes(Attributes::new());
    let next = next.keeping_the_lease().build();
    node.commit_done(next.clone()).await?;
    ensure_eq("when it has none", found("second").await?, Vec::new())?;

    let last = TurnBuilder::after(&next, env.now_ms()).attributes(named("third"));
    node.commit_done(last.completed("1").build()).await?;
    ensure_eq("when it has ended", found("third").await?, only.clone())?;

    let mut anew = start_of("order", named("fourth"));
    anew.message_id = "anew".into();
    let _ = env.start_with("a", anew, IdReuse::RestartEnded).await?;
    ensure_eq("by what it had", found("third").await?, Vec::new())?;
    ensure_eq("when it was started anew", found("fourth").await?, only)?;

    let ready = node.take("a").await?;
    let turn = node.first_turn(&ready).completed("1").build();
    node.commit_done(turn).await?;
    env.purge(10).await?;
    ensure_eq("when it was purged", found("fourth").await?, Vec::new())
}

async fn a_list_by_last_change_follows_the_changes(env: Env) -> CheckResult {
    let listed = async |text: &str| -> CheckResult<Vec<String>> {
        let query = InstanceQuery::parse(text, env.now_ms());
        let query = query.map_err(|error| ProviderError::Unusable {
            reason: error.to_string(),
        })?;
        let records = env.found(&query, 2).await?;
        let ids = records.iter().map(|record| record.instance.to_string());
        Ok(ids.collect())
    };
    let suspended = "status = suspended order by changed";
    let stopped = "status not in (pending, running) order by changed desc";
    for id in ["a", "b", "c"] {
        env.start(id).await?;
        env.time.tick().await;
    }
    for id in ["c", "a", "b"] {
        env.suspend(id).await?;
        env.time.tick().await;
    }
    ensure_eq(
        "those that are suspended",
        listed(suspended).await?,
        strings(&["c", "a", "b"]),
    )?;
    env.suspend("c").await?;
    env.time.tick().await;
    ensure_eq(
        "suspended again",
        listed(suspended).await?,
        strings(&["a", "b", "c"]),
    )?;
    env.resume("b").await?;
    env.time.tick().await;
    ensure_eq(
        "without one",
        listed(suspended).await?,
        strings(&["a", "c"]),
    )?;

    let node = env.node().await?;
    let ready = node.take("b").await?;
    node.commit_done(node.first_turn(&ready).completed("1").build())
        .await?;
    env.time.tick().await;
    ensure_eq(
        "stopped ones",
        listed(stopped).await?,
        strings(&["b", "c", "a"]),
    )?;
    ensure_eq(
        "the completed one",
        listed("status = completed order by changed").await?,
        strings(&["b"]),
    )?;
    env.purge(1).await?;
    ensure_eq(
        "after a purge",
        listed(stopped).await?,
        strings(&["c", "a"]),
    )
}

fn strings(ids: &[&str]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

async fn an_instance_that_is_started_anew_keeps_the_time_of_its_creation(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.completed("1")).await?;
    let created_ms = env.record("a").await?.created_at_ms;
    env.time.tick().await;
    env.start("b").await?;
    env.time.tick().await;
    let mut anew = start_of("order", Attributes::new());
    anew.message_id = "anew".into();
    let _ = env.start_with("a", anew, IdReuse::RestartEnded).await?;
    let record = env.record("a").await?;
    ensure_eq("the time of its creation", record.created_at_ms, created_ms)?;
    ensure_eq("its status", record.status.kind(), StatusKind::Pending)?;
    let oldest_first = InstanceQuery::all().ordered(Order::OLDEST_FIRST);
    let listed = env.found(&oldest_first, 1).await?;
    let listed: Vec<&str> = listed.iter().map(|record| &*record.instance).collect();
    ensure_eq("by creation", listed, vec!["a", "b"])
}

async fn a_page_of_another_query_is_refused(env: Env) -> CheckResult {
    for id in ["a", "b", "c"] {
        env.start(id).await?;
    }
    let by_id = InstanceQuery::all().ordered(Order::BY_ID);
    let page = env.provider().instances(&by_id, None, 1).await?;
    let token: PageToken = match page.next {
        Some(token) => token,
        None => return ensure(false, "where to go on", "a token", page),
    };
    let others = [
        InstanceQuery::all(),
        InstanceQuery::new(Filter::name("fulfil")).ordered(Order::BY_ID),
    ];
    for other in others {
        let refused = env.provider().instances(&other, Some(&token), 1).await;
        let is_refused = matches!(refused, Err(ProviderError::Invalid { .. }));
        ensure(
            is_refused,
            format!("a page of `{other}`"),
            "refused",
            refused,
        )?;
    }
    let read: PageToken = match token.to_string().parse() {
        Ok(read) => read,
        Err(error) => return ensure(false, "the token as text", "a token", error),
    };
    let page = env.provider().instances(&by_id, Some(&read), 10).await?;
    let ids: Vec<&str> = page
        .instances
        .iter()
        .map(|record| &*record.instance)
        .collect();
    ensure_eq("the next page", ids, vec!["b", "c"])
}

async fn a_filter_that_cannot_be_written_is_refused(env: Env) -> CheckResult {
    let node = env.node().await?;
    node.begin("a", |turn| turn.completed("1")).await?;
    let mut deep = Filter::name("a");
    for _ in 0..Filter::MAX_DEPTH {
        deep = !(deep.and(Filter::name("b")).or(Filter::name("c")));
    }
    let many = Field::Id.is_in((0..=Filter::MAX_VALUES).map(|number| number.to_string()));
    let bad = [
        Filter::attribute("status", "x"),
        Filter::attribute("", "x"),
        Field::Created.is("yesterday"),
        Field::Id.at_least(7_i64),
        deep,
        many,
    ];
    for filter in bad {
        let query = InstanceQuery::new(filter.clone());
        let listed = env.provider().instances(&query, None, 1).await;
        let is_refused = matches!(listed, Err(ProviderError::Invalid { .. }));
        ensure(is_refused, "a list", "refused", listed)?;
        let purge = PurgeRequest::new(filter, 1);
        let purged = env.provider().purge(&purge).await;
        let is_refused = matches!(purged, Err(ProviderError::Invalid { .. }));
        ensure(is_refused, "a purge", "refused", purged)?;
    }
    ensure_eq(
        "what is left",
        env.listed(&Filter::all(), 10).await?.len(),
        1,
    )
}

async fn a_purge_begins_with_what_changed_longest_ago(env: Env) -> CheckResult {
    let node = env.node().await?;
    for id in ["c", "a", "b"] {
        node.begin(id, |turn| turn.completed("1")).await?;
        env.time.tick().await;
    }
    for left in [vec!["a", "b"], vec!["b"], vec![]] {
        let report = env.purge(1).await?;
        ensure_eq("how many went", report.instances, 1)?;
        ensure_eq("whether there is more", report.has_more, !left.is_empty())?;
        let left: Vec<InstanceId> = left.into_iter().map(InstanceId::from).collect();
        ensure_eq("what is left", env.listed(&Filter::all(), 10).await?, left)?;
    }
    Ok(())
}
