//! Requests: made by clients and by other instances, answered once.

use std::time::Duration;

use durable_core::provider::{InstanceStatus, StatusKind};
use durable_runtime::{
    Admission, Client, ClientError, Failure, FailureKind, InstanceHandle, Orchestration,
    OrchestrationContext, Registry, Request, RequestError, RequestFailure, RuntimeOptions,
};
use serde::{Deserialize, Serialize};

use crate::world::{World, other_code, pass, settle, stop};

/// Adds a number to the sum, or says why not.
const ADD: Request<u32, u32, Refusal> = Request::new("add");
const CLOSE: Request<(), u32> = Request::new("close");
const COUNTER: Orchestration<u32, u32> = Orchestration::new("counter");
const ASK: Orchestration<(String, u32), String> = Orchestration::new("ask");

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Refusal {
    TooMuch { most: u32 },
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self::TooMuch { most } = self;
        write!(f, "at most {most}")
    }
}

/// Adds what it is told until it is closed. It rejects numbers above 100, does not answer 99,
/// takes a second for 98, returns without an answer to 97, and continues as new with an
/// untaken answer to 96.
async fn counter(ctx: OrchestrationContext, mut sum: u32) -> Result<u32, Failure> {
    loop {
        let add = tokio::select! {
            biased;
            add = ctx.request(ADD) => add?,
            close = ctx.request(CLOSE) => {
                close?.answer(&sum)?;
                return Ok(sum);
            }
        };
        let number = *add.input();
        match number {
            101.. => add.reject(Refusal::TooMuch { most: 100 })?,
            99 => drop(add),
            98 => {
                ctx.sleep(Duration::from_secs(1)).await?;
                sum += number;
                add.answer(&sum)?;
            }
            97 => return Ok(sum),
            96 => return ctx.continue_as_new(&(sum + 1)).await,
            _ => {
                sum += number;
                add.answer(&sum)?;
            }
        }
    }
}

/// Asks another instance, and says how it came out.
async fn ask(
    ctx: OrchestrationContext,
    (target, number): (String, u32),
) -> Result<String, Failure> {
    Ok(match ctx.request_of(target, ADD, &number).await {
        Ok(sum) => format!("sum {sum}"),
        Err(RequestFailure::Rejected(refusal)) => format!("rejected: {refusal}"),
        Err(failure) => format!("failed: {}", Failure::from(failure).kind),
    })
}

fn registry() -> Registry {
    Registry::builder()
        .orchestration(COUNTER, counter)
        .orchestration(ASK, ask)
        .build()
        .unwrap()
}

async fn started(client: &Client, id: &str) -> InstanceHandle<u32> {
    client.start(COUNTER, id, &0).await.unwrap()
}

type Answer = Result<u32, RequestError<Refusal>>;

fn failed(answer: Answer) -> FailureKind {
    match answer {
        Err(RequestError::Failed(failure)) => failure.kind,
        other => panic!("{other:?}"),
    }
}

fn not_answered(answer: Answer) -> (Admission, ClientError) {
    match answer {
        Err(RequestError::NotAnswered {
            admitted, error, ..
        }) => (admitted, error),
        other => panic!("{other:?}"),
    }
}

fn ended(id: &str) -> ClientError {
    ClientError::Ended {
        instance: id.into(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_answered_and_costs_two_events() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let counter = started(&world.client(), "c-1").await;
    assert_eq!(counter.request(ADD, &3).await, Ok(3));
    assert_eq!(counter.request(ADD, &4).await, Ok(7));
    assert_eq!(counter.request(CLOSE, &()).await, Ok(7));
    assert_eq!(counter.wait().await, Ok(7));
    stop(node).await;
    assert_eq!(
        world.kinds("c-1", 1).await,
        [
            "OrchestrationStarted",
            "RequestReceived",
            "RequestAnswered",
            "RequestReceived",
            "RequestAnswered",
            "RequestReceived",
            "RequestAnswered",
            "OrchestrationCompleted",
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_rejection_has_the_type_of_the_request() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let counter = started(&world.client(), "c-1").await;
    let refused = counter.request(ADD, &101).await;
    let expected = RequestError::Rejected(Refusal::TooMuch { most: 100 });
    assert_eq!(refused, Err(expected));
    assert_eq!(counter.request(ADD, &1).await, Ok(1));
    // Of a caller that expects another type it is a failure that says what happened.
    let other = counter.request::<u32, u32, u64>("add", &101).await;
    let Err(RequestError::Failed(failure)) = other else {
        panic!("{other:?}");
    };
    assert_eq!(failure.to_string(), "rejected: at most 100");
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_decode_is_refused_to_its_sender_and_the_wait_goes_on() {
    let world = World::new();
    let options = RuntimeOptions::default().cached_executions(0);
    let node = world.node_with(&registry(), options).await;
    let counter = started(&world.client(), "c-1").await;
    for _ in 0..2 {
        let answer = counter.request::<&str, u32, Refusal>("add", &"three").await;
        assert_eq!(failed(answer), FailureKind::InvalidPayload);
    }
    assert_eq!(counter.request(ADD, &3).await, Ok(3));
    assert_eq!(world.status("c-1").await.kind(), StatusKind::Running);
    stop(node).await;
    world.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_code_drops_is_rejected_by_the_runtime() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let counter = started(&world.client(), "c-1").await;
    assert_eq!(
        failed(counter.request(ADD, &99).await),
        FailureKind::Unanswered
    );
    assert_eq!(counter.request(ADD, &1).await, Ok(1));
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn the_end_answers_what_was_taken_what_was_not_and_what_comes_after() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let counter = started(&world.client(), "c-1").await;
    let unread = counter.request::<(), (), Refusal>("unknown", &());
    let (taken, unread) = tokio::join!(counter.request(ADD, &97), unread);
    assert_eq!(failed(taken), FailureKind::Unanswered);
    let (admitted, error) = not_answered(unread.map(|()| 0));
    assert_eq!((admitted, error), (Admission::Yes, ended("c-1")));
    let (admitted, error) = not_answered(counter.request(ADD, &1).await);
    assert_eq!((admitted, error), (Admission::No, ended("c-1")));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_hard_stop_answers_what_is_open() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let counter = started(&world.client(), "c-1").await;
    let asker = world.client().start(ASK, "a-1", &("c-1".into(), 1));
    let request = counter.request(ADD, &98);
    let stop_it = async {
        settle().await;
        asker.await.unwrap();
        settle().await;
        counter.terminate("enough").await.unwrap();
    };
    let (answer, ()) = tokio::join!(request, stop_it);
    assert_eq!(not_answered(answer), (Admission::Yes, ended("c-1")));
    let asker = world.client().instance(ASK, "a-1");
    assert_eq!(asker.wait().await.unwrap(), "failed: instance ended");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn unread_requests_go_along_with_continue_as_new_and_taken_ones_are_rejected() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let counter = started(&world.client(), "c-1").await;
    // While it sleeps for the first, the others wait.
    let (slow, again, next, other) = tokio::join!(
        counter.request(ADD, &98),
        counter.request(ADD, &96),
        counter.request(ADD, &1),
        counter.request(ADD, &2),
    );
    assert_eq!(slow, Ok(98));
    assert_eq!(failed(again), FailureKind::Unanswered);
    assert_eq!((next, other), (Ok(100), Ok(102)));
    stop(node).await;
    assert_eq!(
        world.kinds("c-1", 2).await,
        ["OrchestrationStarted", "RequestAnswered", "RequestAnswered"]
    );
    world.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn the_same_request_gets_the_same_answer_from_any_node_and_after_the_end() {
    let world = World::new();
    let counter = started(&world.client(), "c-1").await;
    for _ in 0..2 {
        let node = world.node(&registry()).await;
        for _ in 0..2 {
            assert_eq!(counter.request(ADD, &3).id("r-1").await, Ok(3));
        }
        let refused = counter.request(ADD, &200).id("r-2").await;
        assert!(matches!(refused, Err(RequestError::Rejected(_))));
        stop(node).await;
    }
    let node = world.node(&registry()).await;
    assert_eq!(counter.request(CLOSE, &()).await, Ok(3));
    stop(node).await;
    // No node is needed for an answer that is kept.
    assert_eq!(counter.request(ADD, &3).id("r-1").await, Ok(3));
    let (admitted, error) = not_answered(counter.request(ADD, &3).id("r-3").await);
    assert_eq!((admitted, error), (Admission::Unknown, ended("c-1")));
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn callers_that_ask_at_once_with_one_id_are_answered_alike() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let counter = started(&world.client(), "c-1").await;
    let ask = || counter.request(ADD, &98).id("r-1");
    let late = async {
        pass(Duration::from_millis(500)).await;
        ask().await
    };
    let answers = tokio::join!(ask(), ask(), late);
    assert_eq!(answers, (Ok(98), Ok(98), Ok(98)));
    stop(node).await;
    let kinds = world.kinds("c-1", 1).await;
    let received = kinds.iter().filter(|kind| **kind == "RequestReceived");
    assert_eq!(received.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn instances_that_cannot_answer_are_errors_at_once() {
    let world = World::new();
    let client = world.client();
    let unknown: InstanceHandle<u32> = client.instance(COUNTER, "c-0");
    let instance = "c-0".into();
    let expected = (Admission::No, ClientError::NotFound { instance });
    assert_eq!(not_answered(unknown.request(ADD, &1).await), expected);
    let counter = started(&client, "c-1").await;
    counter.suspend("for repair").await.unwrap();
    for (id, expected) in [(None, Admission::No), (Some("r"), Admission::Unknown)] {
        let mut request = counter.request(ADD, &1);
        if let Some(id) = id {
            request = request.id(id);
        }
        let (admitted, error) = not_answered(request.await);
        assert_eq!(admitted, expected);
        let ClientError::Suspended { failure, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(failure.message, "for repair");
    }
    let empty = counter.request::<u32, u32, Refusal>("", &1).await;
    let (admitted, error) = not_answered(empty);
    assert_eq!(admitted, Admission::No);
    assert!(matches!(error, ClientError::Refused(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_suspension_is_told_to_those_who_wait_and_the_request_stays() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let counter = started(&world.client(), "c-1").await;
    let suspend = async {
        pass(Duration::from_millis(500)).await;
        counter.suspend("for repair").await.unwrap();
    };
    let (answer, ()) = tokio::join!(counter.request(ADD, &98).id("r-1"), suspend);
    let (admitted, error) = not_answered(answer);
    assert_eq!(admitted, Admission::Yes);
    assert!(matches!(error, ClientError::Suspended { .. }), "{error}");
    counter.resume().await.unwrap();
    assert_eq!(counter.request(ADD, &98).id("r-1").await, Ok(98));
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn a_timeout_says_that_no_node_has_the_code() {
    let world = World::new();
    let node = world.node(&other_code()).await;
    let counter = started(&world.client(), "c-1").await;
    let request = counter.request(ADD, &3).id("r-1");
    let late = request.timeout(Duration::from_secs(30)).await;
    let Err(RequestError::TimedOut {
        admitted, blocked, ..
    }) = late
    else {
        panic!("{late:?}");
    };
    assert_eq!(admitted, Admission::Yes);
    assert_eq!(blocked.unwrap().kind, FailureKind::NotRegistered);
    stop(node).await;
    let node = world.node(&registry()).await;
    assert_eq!(counter.request(ADD, &3).id("r-1").await, Ok(3));
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn an_orchestration_gets_answers_rejections_and_failures() {
    let world = World::new();
    let options = RuntimeOptions::default().cached_executions(0);
    let node = world.node_with(&registry(), options).await;
    let client = world.client();
    started(&client, "c-1").await;
    let expected = [
        (3, "sum 3"),
        (98, "sum 101"),
        (101, "rejected: at most 100"),
        (99, "failed: unanswered"),
        (96, "failed: unanswered"),
        (97, "failed: unanswered"),
    ];
    for (number, expected) in expected {
        let id = format!("a-{number}");
        let asker = client.start(ASK, id.as_str(), &("c-1".into(), number));
        assert_eq!(asker.await.unwrap().wait().await.unwrap(), expected);
        let kinds = world.kinds(&id, 1).await;
        let answer = match expected.starts_with("sum") {
            true => "RequestCompleted",
            false => "RequestFailed",
        };
        let whole = ["OrchestrationStarted", "RequestSent", answer];
        assert_eq!(kinds[..3], whole);
        assert_eq!(kinds[3..], ["OrchestrationCompleted"]);
    }
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn code_that_does_nothing_but_ask_for_requests_is_stopped() {
    let world = World::new();
    let spin = |ctx: OrchestrationContext, (): ()| async move {
        while ctx.try_request(ADD).await?.is_none() {}
        Ok::<_, Failure>(())
    };
    let registry = Registry::builder().orchestration("spin", spin);
    let node = world.node(&registry.build().unwrap()).await;
    let client = world.client();
    let instance = client.start::<(), ()>("spin", "s-1", &()).await.unwrap();
    let suspended = instance.wait().await;
    assert!(matches!(suspended, Err(ClientError::Suspended { .. })));
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn requests_that_have_come_are_taken_without_waiting() {
    const DRAIN: Orchestration<(), Vec<u32>> = Orchestration::new("drain");
    let drain = |ctx: OrchestrationContext, (): ()| async move {
        let mut numbers = Vec::new();
        ctx.sleep(Duration::from_secs(1)).await?;
        while let Some(add) = ctx.try_request(ADD).await? {
            numbers.push(*add.input());
            add.answer(&0)?;
        }
        Ok::<_, Failure>(numbers)
    };
    let world = World::new();
    let registry = Registry::builder().orchestration(DRAIN, drain);
    let node = world.node(&registry.build().unwrap()).await;
    let drain = world.client().start(DRAIN, "d-1", &()).await.unwrap();
    let (first, malformed, second) = tokio::join!(
        drain.request(ADD, &1),
        drain.request::<&str, u32, Refusal>("add", &"two"),
        drain.request(ADD, &3),
    );
    assert_eq!((first, second), (Ok(0), Ok(0)));
    assert_eq!(failed(malformed), FailureKind::InvalidPayload);
    assert_eq!(drain.wait().await.unwrap(), [1, 3]);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn cancellation_ends_the_wait_and_open_requests_are_answered() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let counter = started(&world.client(), "c-1").await;
    let cancel = async {
        pass(Duration::from_millis(500)).await;
        counter.cancel("enough").await.unwrap();
    };
    let (answer, ()) = tokio::join!(counter.request(ADD, &98), cancel);
    assert_eq!(failed(answer), FailureKind::Unanswered);
    let status = world.status("c-1").await;
    assert!(matches!(status, InstanceStatus::Failed { failure } if failure.is_cancelled()));
    stop(node).await;
    world.assert_done();
}
