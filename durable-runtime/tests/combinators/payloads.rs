//! Values that do not fit: each is a typed failure that says what it was for, and
//! nothing of it is written.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use durable_core::Limits;
use durable_runtime::{
    ActivityContext, ClientError, Failure, FailureKind, InstanceId, OrchestrationContext,
    PromiseToken, Registry, ReplayFailure, Replayer, RuntimeOptions,
};

use crate::scenario::Log;
use crate::world::{World, options, settled, shown};

/// Does not fit into JSON: its keys are no strings.
fn unwritable() -> BTreeMap<(u8, u8), u8> {
    BTreeMap::from([((1, 2), 3)])
}

/// How something was refused: kind and sentence.
fn refusal<T>(result: Result<T, Failure>) -> (String, String) {
    match result {
        Ok(_) => ("ok".into(), String::new()),
        Err(failure) => (failure.kind.to_string(), failure.message),
    }
}

type Refusals = Vec<(String, String)>;

/// Runs one orchestration alone; what it returned and the kinds of its events.
async fn alone<F, R>(options: RuntimeOptions, code: F) -> (Refusals, Vec<&'static str>)
where
    F: Fn(OrchestrationContext, ()) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Refusals, Failure>> + Send + 'static,
{
    let registry = Registry::builder()
        .orchestration("code", code)
        .orchestration("texty", async |_: OrchestrationContext, (): ()| {
            Ok::<_, Failure>("text".to_string())
        })
        .orchestration("echo", async |_: OrchestrationContext, text: String| {
            Ok::<_, Failure>(text)
        })
        .activity("texty", async |_: ActivityContext, (): ()| {
            Ok::<_, Failure>("text".to_string())
        })
        .activity("unwritable", async |_: ActivityContext, (): ()| {
            Ok::<_, Failure>(unwritable())
        })
        .activity("echo", async |_: ActivityContext, text: String| {
            Ok::<_, Failure>(text)
        })
        .activity("fail", async |_: ActivityContext, text: String| {
            Err::<(), _>(Failure::application("big", text))
        })
        .build()
        .unwrap();
    let mut world = World::with(registry, options).await;
    let client = world.client();
    let instance = client
        .start::<(), Refusals>("code", "i", &())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    for n in 0..3 {
        // Those who do not listen have ended.
        let _ = instance.raise("event", &format!("text{n}")).await;
    }
    let token: PromiseToken = "i/1/Promise(0)".parse().unwrap();
    let _ = client.resolve_promise(&token, &"text").await;
    let record = settled(&instance).await;
    let history = world.history(instance.id(), 1).await;
    world.stop().await;
    world.check_all().await;
    let refusals = match record.status {
        durable_runtime::InstanceStatus::Completed { output } => {
            serde_json::from_str(&output).unwrap()
        }
        status => panic!("{status:?}\n{}", shown(&history)),
    };
    (refusals, world.kinds("i", 1).await)
}

#[tokio::test(start_paused = true)]
async fn what_does_not_decode_names_the_operation_the_event_and_the_type() {
    async fn code(ctx: OrchestrationContext, (): ()) -> Result<Refusals, Failure> {
        let mut log = Refusals::new();
        log.push(refusal(ctx.activity::<_, u64>("texty", &()).await));
        log.push(refusal(ctx.activity::<_, u64>("echo", &7_u64).await));
        log.push(refusal(ctx.sub_orchestration::<_, u64>("texty", &()).await));
        log.push(refusal(
            ctx.sub_orchestration::<_, u64>("echo", &7_u64).await,
        ));
        log.push(refusal(ctx.external_event::<u64>("event").await));
        log.push(refusal(ctx.promise::<u64>("promise")?.await));
        ctx.set_state("key", "text")?;
        log.push(refusal(ctx.state::<u64>("key")));
        ctx.set_custom_status("text")?;
        log.push(refusal(ctx.custom_status::<u64>()));
        Ok(log)
    }
    let (log, _) = alone(options(), code).await;
    let expected = [
        "the result of activity `texty` (event 2) does not decode as `u64`",
        "the input of activity `echo` (event 4) does not decode as `alloc::string::String`",
        "the result of orchestration `texty` (event 6) does not decode as `u64`",
        "the input of orchestration `echo` (event 1) does not decode as `alloc::string::String`",
        "the result of event `event` (event 10) does not decode as `u64`",
        "the result of promise `promise` (event 12) does not decode as `u64`",
        "the value of state key `key` does not decode as `u64`",
        "the value of status of `i` does not decode as `u64`",
    ];
    for ((kind, message), expected) in log.iter().zip(expected) {
        assert_eq!(kind, "invalid payload", "{message}");
        assert!(message.starts_with(expected), "{message}\n{expected}");
    }
    assert_eq!(log.len(), expected.len());
}

#[tokio::test(start_paused = true)]
async fn what_does_not_encode_is_refused_before_anything_is_written() {
    async fn code(ctx: OrchestrationContext, (): ()) -> Result<Refusals, Failure> {
        let bad = unwritable();
        let other = InstanceId::from("other");
        let token: PromiseToken = "other/1/Promise(0)".parse().unwrap();
        Ok(vec![
            refusal(ctx.activity::<_, ()>("echo", &bad).await),
            refusal(ctx.sub_orchestration::<_, ()>("echo", &bad).await),
            refusal(ctx.start_detached::<_, ()>("echo", other.clone(), &bad)),
            refusal(ctx.send_event(other, "event", &bad).await),
            refusal(ctx.resolve_promise(token, &bad)),
            refusal(ctx.set_state("key", &bad)),
            refusal(ctx.set_custom_status(&bad)),
            refusal(ctx.continue_as_new::<_, ()>(&bad).await),
        ])
    }
    let (log, kinds) = alone(options(), code).await;
    let expected = [
        "the input of activity `echo` does not encode: key must be a string",
        "the input of orchestration `echo` does not encode: key must be a string",
        "the input of orchestration `echo` does not encode: key must be a string",
        "the data of event `event` does not encode: key must be a string",
        "the value of promise `other/1/Promise(0)` does not encode: key must be a string",
        "the value of state key `key` does not encode: key must be a string",
        "the value of status of `i` does not encode: key must be a string",
        "the input of instance `i` does not encode: key must be a string",
    ];
    for ((kind, message), expected) in log.iter().zip(expected) {
        assert_eq!(kind, "invalid payload", "{message}");
        assert_eq!(message, expected);
    }
    assert_eq!(log.len(), expected.len());
    assert_eq!(kinds, ["OrchestrationStarted", "OrchestrationCompleted"]);
}

#[tokio::test(start_paused = true)]
async fn results_that_do_not_encode_are_recorded_as_failures() {
    async fn code(ctx: OrchestrationContext, (): ()) -> Result<Refusals, Failure> {
        Ok(vec![
            refusal(ctx.activity::<_, ()>("unwritable", &()).await),
            refusal(
                ctx.run("run", async { Ok::<_, Failure>(unwritable()) })
                    .await,
            ),
        ])
    }
    let (log, kinds) = alone(options(), code).await;
    let messages: Log = log.iter().map(|(_, message)| message.clone()).collect();
    assert_eq!(
        messages,
        [
            "the result of activity `unwritable` does not encode: key must be a string",
            "the result of side effect `run` does not encode: key must be a string",
        ]
    );
    assert_eq!(
        kinds[1..4],
        ["ActivityScheduled", "ActivityFailed", "OperationCompleted"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_output_that_does_not_encode_fails_the_orchestration() {
    let registry = Registry::builder()
        .orchestration("code", async |_: OrchestrationContext, (): ()| {
            Ok::<_, Failure>(unwritable())
        })
        .build()
        .unwrap();
    let mut world = World::new(registry).await;
    let start = world.client().start::<_, ()>("code", "i", &());
    let error = start.await.unwrap().wait().await.unwrap_err();
    let ClientError::Failed { failure, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(failure.kind, FailureKind::InvalidPayload);
    assert!(
        failure
            .message
            .starts_with("the output of orchestration `code`")
    );
    world.stop().await;
    world.check_all().await;
}

/// Names of at most 160 bytes, payloads of at most 100.
fn small() -> RuntimeOptions {
    options().limits(Limits::new().max_name_bytes(160).max_payload_bytes(100))
}

/// Text that takes this many bytes as JSON.
fn text(bytes: usize) -> String {
    "x".repeat(bytes - 2)
}

#[tokio::test(start_paused = true)]
async fn a_payload_at_the_limit_is_taken_and_one_byte_more_is_refused() {
    async fn try_all(ctx: &OrchestrationContext, bytes: usize) -> Result<Refusals, Failure> {
        let data = text(bytes);
        let other = InstanceId::from("other");
        let token: PromiseToken = "other/1/Promise(0)".parse().unwrap();
        let failure = Failure::application("big", "x".repeat(bytes));
        Ok(vec![
            refusal(ctx.activity::<_, String>("echo", &data).await),
            refusal(ctx.sub_orchestration::<_, String>("echo", &data).await),
            refusal(ctx.start_detached::<_, String>("echo", other.clone(), &data)),
            refusal(ctx.send_event(other, "event", &data).detach()),
            refusal(ctx.resolve_promise(token.clone(), &data)),
            refusal(ctx.reject_promise(token, failure)),
            refusal(ctx.set_state("key", &data)),
            refusal(ctx.set_custom_status(&data)),
            refusal(
                ctx.run("run", async { Ok::<_, Failure>(data.clone()) })
                    .await,
            ),
            refusal(
                ctx.run("bad", async {
                    Err::<(), _>(Failure::application("big", &*data))
                })
                .await,
            ),
        ])
    }
    async fn code(ctx: OrchestrationContext, (): ()) -> Result<Refusals, Failure> {
        // The log itself is larger than a payload may be.
        let at_limit = try_all(&ctx, 100).await?;
        let fits = at_limit[..9].iter().all(|(kind, _)| kind == "ok");
        let over = try_all(&ctx, 101).await?;
        let is_refused = over[..9].iter().all(|(kind, message)| {
            kind == "limit exceeded" && message.contains("101 bytes; at most 100 are allowed")
        });
        let failed_runs = format!("{}/{}", at_limit[9].0, over[9].0);
        Ok(vec![(format!("{fits} {is_refused}"), failed_runs)])
    }
    let (log, kinds) = alone(small(), code).await;
    assert_eq!(log, [("true true".into(), "big/big".into())]);
    let of_kind = |wanted: &str| kinds.iter().filter(|kind| **kind == wanted).count();
    assert_eq!(of_kind("ActivityScheduled"), 1);
    assert_eq!(of_kind("SubOrchestrationScheduled"), 1);
    assert_eq!(of_kind("OrchestrationChained"), 1);
    assert_eq!(of_kind("ExternalEventSent"), 1);
    assert_eq!(of_kind("PromiseResolutionSent"), 2);
    assert_eq!(of_kind("StateSet"), 1);
    assert_eq!(of_kind("CustomStatusSet"), 1);
    assert_eq!(of_kind("OperationCompleted"), 4, "what ran is recorded");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_too_large_is_replaced_by_one_that_says_so() {
    async fn code(ctx: OrchestrationContext, (): ()) -> Result<Refusals, Failure> {
        let big = "x".repeat(95);
        let run = ctx.run("run", async {
            Err::<(), _>(Failure::application("big", "y".repeat(101)))
        });
        Ok(vec![
            refusal(ctx.activity::<_, ()>("fail", &big).await),
            refusal(run.await),
        ]
        .into_iter()
        .map(|(kind, message)| (kind, message.chars().take(20).collect()))
        .collect())
    }
    let (log, _) = alone(small(), code).await;
    assert_eq!(log[0], ("big".into(), "x".repeat(20)));
    assert_eq!(
        log[1],
        ("limit exceeded".into(), "the failure message ".into())
    );
    let registry = Registry::builder()
        .orchestration("code", async |_: OrchestrationContext, (): ()| {
            Err::<(), _>(Failure::application("k".repeat(161), "kind"))
        })
        .build()
        .unwrap();
    let mut world = World::with(registry, small()).await;
    let start = world.client().start::<(), ()>("code", "i", &());
    let error = start.await.unwrap().wait().await.unwrap_err();
    let ClientError::Failed { failure, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(failure.kind, FailureKind::LimitExceeded);
    world.stop().await;
    world.check_all().await;
}

#[tokio::test(start_paused = true)]
async fn empty_and_long_names_are_refused_before_anything_is_written() {
    async fn try_all(ctx: &OrchestrationContext, name: &str) -> Refusals {
        let id = InstanceId::from(name);
        let token = PromiseToken::new(id.clone(), ctx.execution_id(), 0);
        let here = InstanceId::from("here");
        vec![
            refusal(ctx.activity::<_, ()>(name, &()).await),
            refusal(ctx.activity::<_, ()>("echo", &()).queue(name).await),
            refusal(ctx.sub_orchestration::<_, ()>(name, &()).await),
            refusal(
                ctx.sub_orchestration::<_, ()>("echo", &())
                    .id(id.clone())
                    .await,
            ),
            refusal(ctx.start_detached::<_, ()>(name, here.clone(), &())),
            refusal(ctx.start_detached::<_, ()>("echo", id.clone(), &())),
            refusal(ctx.send_event(here, name, &()).await),
            refusal(ctx.send_event(id, "event", &()).detach()),
            refusal(ctx.external_event::<()>(name).await),
            refusal(ctx.promise::<()>(name)),
            refusal(ctx.resolve_promise(token.clone(), &())),
            refusal(ctx.reject_promise(token, Failure::cancelled("no"))),
            refusal(ctx.state::<()>(name)),
            refusal(ctx.set_state(name, &())),
            refusal(ctx.clear_state(name)),
            refusal(ctx.run(name, async { Ok::<_, Failure>(()) }).await),
        ]
    }
    async fn code(ctx: OrchestrationContext, (): ()) -> Result<Refusals, Failure> {
        let empty = try_all(&ctx, "").await;
        let is_empty = |message: &str| message.ends_with("is empty");
        let long = try_all(&ctx, &"n".repeat(161)).await;
        let is_long = |message: &str| message.contains("bytes; at most 160 are allowed");
        let all = |refusals: &Refusals, is_expected: fn(&str) -> bool| {
            refusals
                .iter()
                .all(|(kind, message)| kind == "limit exceeded" && is_expected(message))
        };
        Ok(vec![(
            format!("{} {}", all(&empty, is_empty), all(&long, is_long)),
            format!("{} {}", empty.len(), long.len()),
        )])
    }
    let (log, kinds) = alone(small(), code).await;
    assert_eq!(log, [("true true".into(), "16 16".into())]);
    assert_eq!(kinds, ["OrchestrationStarted", "OrchestrationCompleted"]);
}

#[tokio::test(start_paused = true)]
async fn a_child_whose_derived_id_would_be_too_long_is_refused() {
    async fn code(ctx: OrchestrationContext, (): ()) -> Result<Refusals, Failure> {
        let derived = ctx.sub_orchestration::<_, String>("texty", &()).await;
        let named = ctx
            .sub_orchestration::<_, String>("texty", &())
            .id("mine")
            .await;
        Ok(vec![refusal(derived), refusal(named)])
    }
    let limits = Limits::new().max_name_bytes(80).max_payload_bytes(1_000);
    let (log, _) = alone(options().limits(limits), code).await;
    assert_eq!(log[0].0, "limit exceeded");
    assert!(
        log[0].1.contains("the name of the instance has 87 bytes"),
        "{}",
        log[0].1
    );
    assert_eq!(log[1].0, "ok");
}

#[tokio::test(start_paused = true)]
async fn a_patch_without_a_name_stops_the_instance_and_says_why() {
    let registry = Registry::builder()
        .orchestration("code", async |ctx: OrchestrationContext, (): ()| {
            Ok::<_, Failure>(ctx.patched("").await)
        })
        .build()
        .unwrap();
    let world = World::new(registry).await;
    let start = world.client().start::<_, bool>("code", "i", &());
    let record = settled(&start.await.unwrap()).await;
    let durable_runtime::InstanceStatus::Suspended { failure } = record.status else {
        panic!("{:?}", record.status);
    };
    assert!(
        failure
            .message
            .contains("a patch was asked for whose name is empty")
    );
}

#[tokio::test(start_paused = true)]
async fn a_recorded_result_of_another_type_is_a_failure_and_not_a_panic() {
    static SEEN: Mutex<Option<Failure>> = Mutex::new(None);
    let before = Registry::builder()
        .orchestration("code", async |ctx: OrchestrationContext, (): ()| {
            let number: u64 = ctx.run("draw", async { Ok::<_, Failure>(7) }).await?;
            ctx.sleep(Duration::from_secs(number)).await
        })
        .build()
        .unwrap();
    let after = Registry::builder()
        .orchestration("code", async |ctx: OrchestrationContext, (): ()| {
            let drawn: Result<String, Failure> = ctx
                .run("draw", async { Ok::<_, Failure>("7".into()) })
                .await;
            *SEEN.lock().unwrap() = drawn.as_ref().err().cloned();
            ctx.sleep(Duration::from_secs(1)).await
        })
        .build()
        .unwrap();
    let mut world = World::new(before).await;
    let start = world.client().start::<_, ()>("code", "i", &());
    start.await.unwrap().wait().await.unwrap();
    world.stop().await;
    let history = world.history(&"i".into(), 1).await;
    world.check(&history);
    Replayer::new(after).replay(&history).unwrap();
    let seen = SEEN.lock().unwrap().take().unwrap();
    assert_eq!(seen.kind, FailureKind::InvalidPayload);
    assert!(
        seen.message.starts_with("the result of side effect `draw`"),
        "{}",
        seen.message
    );
}

#[tokio::test(start_paused = true)]
async fn what_a_side_effect_returned_is_seen_as_it_was_recorded() {
    // What JSON cannot carry is gone in every replay, so it is gone at once.
    let registry = Registry::builder()
        .orchestration("code", async |ctx: OrchestrationContext, (): ()| {
            let number = ctx.run("nan", async { Ok::<_, Failure>(Some(f64::NAN)) });
            let number: Option<f64> = number.await?;
            ctx.sleep(Duration::from_secs(1)).await?;
            Ok::<_, Failure>(number)
        })
        .build()
        .unwrap();
    let mut world = World::new(registry).await;
    let start = world.client().start::<_, Option<f64>>("code", "i", &());
    assert_eq!(start.await.unwrap().wait().await.unwrap(), None);
    world.stop().await;
    world.check_all().await;
}

#[test]
fn a_history_of_something_unknown_says_what_is_missing() {
    let history = durable_core::History::new(
        "i".into(),
        durable_core::ExecutionId::FIRST,
        vec![durable_core::HistoryEntry::new(
            0,
            durable_core::Event::OrchestrationStarted {
                event_id: durable_core::EventId::FIRST,
                name: "gone".into(),
                version: "2.0.0".into(),
                input: "null".into(),
                parent: None,
                carried: None,
            },
        )],
    );
    let failure = durable_runtime::replay(&Registry::default(), &history).unwrap_err();
    assert!(matches!(failure, ReplayFailure::NotRegistered { .. }));
    assert_eq!(
        failure.to_string(),
        "orchestration `gone` 2.0.0 is not registered on this node: deploy a node that has it"
    );
}
