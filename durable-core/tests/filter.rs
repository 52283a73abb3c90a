//! Filters as text: every filter survives being written and read, no text does harm, and what
//! is wrong is told with its place.

use durable_core::filter::{
    Direction, Field, Filter, FilterFault, InstanceQuery, Order, OrderBy, PagePosition, PageToken,
    StatusSet, Test, TimeRange,
};
use durable_core::provider::{InstanceRecord, InstanceStatus, StatusKind};
use durable_core::{AttributeValue, EventId, ExecutionId, Failure, Parent};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const NOW_MS: u64 = 1_700_000_000_000;

fn value() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        any::<String>().prop_map(AttributeValue::Text),
        "[a-z \"\\\\\\n]{0,8}".prop_map(AttributeValue::Text),
        any::<i64>().prop_map(AttributeValue::Integer),
        any::<i64>().prop_map(AttributeValue::Time),
        (0..4_000_000_000_000_i64).prop_map(AttributeValue::Time),
        any::<bool>().prop_map(AttributeValue::Bool),
    ]
}

fn text() -> impl Strategy<Value = AttributeValue> {
    any::<String>().prop_map(AttributeValue::Text)
}

fn time() -> impl Strategy<Value = AttributeValue> {
    any::<i64>().prop_map(AttributeValue::Time)
}

fn test_of(value: BoxedStrategy<AttributeValue>) -> impl Strategy<Value = Test> {
    prop_oneof![
        vec(value.clone(), 1..4).prop_map(Test::In),
        value.clone().prop_map(Test::Less),
        value.clone().prop_map(Test::AtMost),
        value.clone().prop_map(Test::Greater),
        value.clone().prop_map(Test::AtLeast),
        (value.clone(), value).prop_map(|(from, to)| Test::Between(from, to)),
        Just(Test::Exists),
    ]
}

fn term() -> impl Strategy<Value = Filter> {
    let texts = vec![Field::Id, Field::Name, Field::Version, Field::Parent];
    let times = vec![Field::Created, Field::Changed];
    let names = vec!["customer", "a", "Has-been", "x.y_z", "statuses"];
    let attribute = || select(names.clone()).prop_map(Field::attribute);
    prop_oneof![
        Just(Filter::all()),
        Just(Filter::nothing()),
        vec(select(StatusKind::ALL.to_vec()), 1..4).prop_map(Filter::status_in),
        (select(texts.clone()), test_of(text().boxed())).prop_map(|(f, t)| Filter::test(f, t)),
        (select(times), test_of(time().boxed())).prop_map(|(f, t)| Filter::test(f, t)),
        (attribute(), test_of(value().boxed())).prop_map(|(f, t)| Filter::test(f, t)),
        (select(texts), any::<String>()).prop_map(|(field, prefix)| field.starts_with(prefix)),
        (attribute(), any::<String>()).prop_map(|(field, prefix)| field.starts_with(prefix)),
    ]
}

fn filter() -> impl Strategy<Value = Filter> {
    term().prop_recursive(5, 24, 4, |part| {
        prop_oneof![
            vec(part.clone(), 2..4)
                .prop_map(|parts| parts.into_iter().fold(Filter::all(), Filter::and)),
            vec(part.clone(), 2..4)
                .prop_map(|parts| parts.into_iter().fold(Filter::nothing(), Filter::or)),
            part.prop_map(|part| !part),
        ]
    })
}

fn order() -> impl Strategy<Value = Order> {
    let by = select(vec![OrderBy::Created, OrderBy::Changed, OrderBy::Id]);
    let direction = select(vec![Direction::Ascending, Direction::Descending]);
    (by, direction).prop_map(|(by, direction)| Order::new(by, direction))
}

fn record() -> impl Strategy<Value = InstanceRecord> {
    let attributes = vec((select(vec!["customer", "a", "x.y_z"]), value()), 0..3);
    let status = select(StatusKind::ALL.to_vec());
    (any::<String>(), attributes, status, any::<bool>(), 0..9_u64).prop_map(
        |(id, attributes, status, has_parent, time)| {
            let mut record = InstanceRecord::pending(
                id.as_str().into(),
                ExecutionId::FIRST,
                "order".into(),
                time,
            );
            let failure = Failure::application("x", "x");
            record.status = match status {
                StatusKind::Pending => InstanceStatus::Pending,
                StatusKind::Running => InstanceStatus::Running,
                StatusKind::Suspended => InstanceStatus::Suspended { failure },
                StatusKind::Completed => InstanceStatus::Completed { output: "1".into() },
                StatusKind::Failed => InstanceStatus::Failed { failure },
                StatusKind::Terminated => InstanceStatus::Terminated { failure },
            };
            let parent = Parent::new("p".into(), ExecutionId::FIRST, EventId::FIRST);
            record.parent = has_parent.then_some(parent);
            for (name, value) in attributes {
                record.attributes.set(name, value);
            }
            record
        },
    )
}

proptest! {
    #[test]
    fn a_filter_survives_as_text(filter in filter()) {
        prop_assume!(filter.check().is_ok());
        let text = filter.to_string();
        let read = Filter::parse(&text, NOW_MS);
        prop_assert_eq!(read.as_ref(), Ok(&filter), "{}", text);
        prop_assert_eq!(read.unwrap().to_string(), text);
    }

    #[test]
    fn a_query_and_a_page_of_it_survive_as_text(
        filter in filter(),
        order in order(),
        place in (any::<u64>(), any::<u64>(), any::<String>()),
    ) {
        prop_assume!(filter.check().is_ok());
        let query = InstanceQuery::new(filter).ordered(order);
        prop_assert_eq!(InstanceQuery::parse(&query.to_string(), NOW_MS), Ok(query.clone()));
        let mut position = PagePosition::numbered(place.0, place.1);
        position.instance = place.2;
        let token = PageToken::after(&query, position.clone());
        let text = token.to_string();
        prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
        let read: PageToken = text.parse().unwrap();
        prop_assert_eq!(&read, &token);
        prop_assert_eq!(read.position_in(&query), Ok(&position));
        prop_assert!(read.position_in(&query.ordered(Order::new(OrderBy::Id, Direction::Descending)))
            .is_err() || order == Order::new(OrderBy::Id, Direction::Descending));
    }

    #[test]
    fn a_page_token_with_a_fault_is_refused(at in any::<prop::sample::Index>(), byte in "[A-Za-z0-9_-]") {
        let query = InstanceQuery::parse("status = failed", 0).unwrap();
        let token = PageToken::after(&query, PagePosition::numbered(1, 2)).to_string();
        let at = at.index(token.len());
        let mut other = token.clone();
        other.replace_range(at..=at, &byte);
        prop_assert!(other == token || other.parse::<PageToken>().is_err());
        prop_assert!(token[..at].parse::<PageToken>().is_err());
    }

    #[test]
    fn no_text_does_harm(text in any::<String>()) {
        harmless(&text);
    }

    #[test]
    fn no_words_of_the_language_do_harm(words in vec(select(vec![
        "status", "customer", "=", "!=", "<", "in", "between", "and", "or", "not", "(", ")", ",",
        "starts", "with", "has", "order", "by", "id", "desc", "\"x\"", "\"", "17", "-1h", "@5",
        "2026-11-18T00:00:00Z", "true", "failed", "\\", "ü", "\n", "9999999999999999999",
    ]), 0..40)) {
        harmless(&words.join(" "));
        harmless(&words.concat());
    }

    #[test]
    fn bounds_have_all_that_is_meant(filter in filter(), record in record()) {
        if filter.matches(&record) {
            prop_assert!(filter.statuses().contains(record.status.kind()));
            let created = filter.created();
            let time = i64::try_from(record.created_at_ms).unwrap();
            prop_assert!(created.from_ms <= time && time <= created.to_ms);
            let changed = filter.changed();
            prop_assert!(changed.from_ms <= time && time <= changed.to_ms);
        }
        prop_assert_ne!((!filter.clone()).matches(&record), filter.matches(&record));
    }
}

/// Reads a text that may be anything; what is told of it has a place in it.
fn harmless(text: &str) {
    match InstanceQuery::parse(text, NOW_MS) {
        Ok(query) => {
            assert_eq!(query.check(), Ok(()));
            assert_eq!(InstanceQuery::parse(&query.to_string(), 0), Ok(query));
        }
        Err(error) => {
            let span = error.span();
            assert!(text.get(span.clone()).is_some(), "{text:?} {span:?}");
            assert!(error.to_string().contains('^'));
        }
    }
    let _ = Filter::parse(text, NOW_MS);
    let _ = text.parse::<PageToken>();
}

#[test]
fn too_much_of_anything_is_refused() {
    let fault = |text: &str| Filter::parse(text, 0).unwrap_err().fault().clone();
    let long = "ü".repeat(Filter::MAX_BYTES);
    assert_eq!(fault(&long), FilterFault::TooLong);
    let deep = format!("{}a = 1{}", "(".repeat(500), ")".repeat(500));
    assert_eq!(fault(&deep), FilterFault::TooDeep);
    let negated = "not ".repeat(1_001) + "a = 1";
    assert_eq!(Filter::parse(&negated, 0).unwrap().to_string(), "a != 1");
    let many = format!("a in ({})", vec!["1"; Filter::MAX_VALUES + 1].join(", "));
    assert_eq!(fault(&many), FilterFault::TooManyValues);
    let most = format!("a in ({})", vec!["1"; Filter::MAX_VALUES].join(", "));
    assert!(Filter::parse(&most, 0).is_ok());
    let expanding = vec!["a = -1h"; 300].join(" and ");
    assert_eq!(fault(&expanding), FilterFault::TooManyValues);
    // `-1h` is a short text for a long one.
    let long_times = format!("a in ({})", vec!["\"\\n\""; 200].join(","));
    assert!(Filter::parse(&long_times, 0).is_ok());
    let mut nested = String::from("a = 1");
    for _ in 0..Filter::MAX_DEPTH {
        nested = format!("not (b = 2 or {nested})");
    }
    assert_eq!(fault(&nested), FilterFault::TooDeep);
}

#[test]
fn texts_mean_filters() {
    let hour = 3_600_000;
    let now = i64::try_from(NOW_MS).unwrap();
    let customer = || Field::attribute("customer");
    for (text, filter) in [
        ("", Filter::all()),
        ("  \n", Filter::all()),
        ("status = failed", Filter::status(StatusKind::Failed)),
        ("STATUS == Failed", Filter::status(StatusKind::Failed)),
        ("status <> failed", !Filter::status(StatusKind::Failed)),
        (
            "status in (failed, completed)",
            Filter::status_in([StatusKind::Completed, StatusKind::Failed]),
        ),
        ("customer = c-17", customer().is("c-17")),
        (
            "customer = \"c\\\"\\u{1F600}\"",
            customer().is("c\"\u{1f600}"),
        ),
        ("name = order", Filter::name("order")),
        ("customer = 17", customer().is(17)),
        ("customer = -17", customer().is(-17)),
        ("customer = true", customer().is(true)),
        ("customer starts with c-", customer().starts_with("c-")),
        (
            "customer not in (a, 1)",
            !customer().is_in([AttributeValue::from("a"), 1.into()]),
        ),
        ("has customer", customer().exists()),
        ("not has parent", !Field::Parent.exists()),
        (
            "changed > -1h",
            Field::Changed.greater_than(AttributeValue::Time(now - hour)),
        ),
        (
            "changed < now",
            Field::Changed.less_than(AttributeValue::Time(now)),
        ),
        (
            "created >= +1h",
            Field::Created.at_least(AttributeValue::Time(now + hour)),
        ),
        (
            "created <= 1970-01-02",
            Field::Created.at_most(AttributeValue::Time(24 * hour)),
        ),
        (
            "a = 1 or b = 2 and not c = 3",
            Field::attribute("a").is(1).or(Field::attribute("b")
                .is(2)
                .and(!Field::attribute("c").is(3))),
        ),
        (
            "(a = 1 or b = 2) and true",
            Field::attribute("a").is(1).or(Field::attribute("b").is(2)),
        ),
        ("a = 1 and false", Filter::nothing()),
        (
            "id between a and z and name = n",
            Field::Id.between("a", "z").and(Filter::name("n")),
        ),
    ] {
        assert_eq!(Filter::parse(text, NOW_MS), Ok(filter), "{text}");
    }
    let text = "status = failed and customer = \"c-17\" and changed > -1h order by changed desc";
    let query = InstanceQuery::parse(text, NOW_MS).unwrap();
    assert_eq!(query.order, Order::LATEST_CHANGE_FIRST);
    assert!(query.filter.statuses().is_within(StatusSet::stopped()));
    let range = query.filter.changed();
    assert_eq!((range.from_ms, range.to_ms), (now - hour + 1, i64::MAX));
    assert_eq!(query.filter.created(), TimeRange::ALL);
    assert_eq!(query.filter.conjuncts().len(), 3);
    assert_eq!(
        InstanceQuery::parse("order by id", 0).unwrap().order,
        Order::BY_ID
    );
    assert_eq!(InstanceQuery::parse("", 0), Ok(InstanceQuery::all()));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (text, told) in [
        (
            "status faild",
            "expected `=`, `!=` or `in`, found `faild`\n\n  status faild\n         ^^^^^",
        ),
        (
            "status = faild",
            "`faild` is no status\n\n  status = faild\n           ^^^^^\nhint: did you mean `failed`?",
        ),
        (
            "status > failed",
            "`status` can be compared by `=`, `!=` and `in`\n\n  status > failed\n         ^",
        ),
        (
            "customer = 'c-17'",
            "unexpected '\\''\n\n  customer = 'c-17'\n             ^\n\
             hint: texts are in double quotes: \"c-17\"",
        ),
        (
            "customer =",
            "expected a value, and the filter ends here\n\n  customer =\n            ^",
        ),
        (
            "customer like \"c%\"",
            "expected `=`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `between` or `starts with`, found \
             `like`\n\n  customer like \"c%\"\n           ^^^^\n\
             hint: write `customer starts with \"…\"`",
        ),
        (
            "a = 1\nand changed > 17",
            "`changed` needs a time\n\n  and changed > 17\n                ^^\n\
             hint: 2026-11-18T14:30:00Z, 2026-11-18, or from now: -1h, -7d",
        ),
        (
            "name = 17",
            "`name` needs a text\n\n  name = 17\n         ^^\nhint: write \"17\"",
        ),
        (
            "a = and",
            "expected a value, found `and`\n\n  a = and\n      ^^^\n\
             hint: as a text it is in quotes: \"and\"",
        ),
        (
            "(a = 1",
            "expected `)`, `and` or `or`, and the filter ends here\n\n  (a = 1\n        ^",
        ),
        (
            "a = 1 oder b = 2",
            "expected `and`, `or`, `order by` or the end, found `oder`\n\n  a = 1 oder b = 2\n        \
             ^^^^\nhint: did you mean `order`?",
        ),
        (
            "a = 1 order by chnaged",
            "expected `created`, `changed` or `id`, found `chnaged`\n\n  a = 1 order by chnaged\n  \
             \u{20}              ^^^^^^^\nhint: did you mean `changed`?",
        ),
        (
            "größe = 1",
            "`größe` is no field and no name of an attribute: it may have letters (a to z), \
             digits, `_`, `-` and `.`\n\n  größe = 1\n  ^^^^^",
        ),
        (
            "created > 2026-13-01",
            "`2026-13-01` is no integer and no time\n\n  created > 2026-13-01\n            ^^^^^^^^^^\n\
             hint: times are 2026-11-18T14:30:00Z, 2026-11-18 or -1h (ms, s, m, h, d, w); as a \
             text it is in quotes: \"2026-13-01\"",
        ),
    ] {
        let error = InstanceQuery::parse(text, NOW_MS).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
    let long = format!("a = \"{}\" and status = faild", "x".repeat(500));
    let told = Filter::parse(&long, 0).unwrap_err().to_string();
    assert!(
        told.lines().all(|line| line.chars().count() <= 110),
        "{told}"
    );
    let caret = told.lines().find(|line| line.contains('^')).unwrap();
    assert_eq!(caret.trim(), "^^^^^");
    let error = Filter::parse("a = 1 order by id", 0).unwrap_err();
    assert_eq!(error.fault(), &FilterFault::Order);
}

#[test]
fn a_mistyped_field_is_noticed() {
    let filter = Filter::parse("statsu = failed and customer = 1 or not chnaged > -1h", 0).unwrap();
    let mistakes = filter.probable_mistakes();
    assert_eq!(mistakes, [("statsu", "status"), ("chnaged", "changed")]);
}

#[test]
fn what_lacks_a_field_passes_no_test_of_it() {
    let record = InstanceRecord::pending("a".into(), ExecutionId::FIRST, "order".into(), 5);
    for (text, is_meant) in [
        ("customer = 1", false),
        ("customer != 1", true),
        ("customer < 1", false),
        ("not customer < 1", true),
        ("has customer", false),
        ("version starts with \"\"", false),
        ("parent != x", true),
        ("id starts with \"\"", true),
        ("created = @5", true),
        ("changed between @5 and @5", true),
        ("created < @5", false),
    ] {
        assert_eq!(
            Filter::parse(text, 0).unwrap().matches(&record),
            is_meant,
            "{text}"
        );
    }
}
