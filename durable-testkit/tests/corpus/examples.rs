//! Small orchestrations, one for each thing that orchestrations do.

use std::time::Duration;

use durable_core::PromiseToken;
use durable_runtime::{
    Activity, ActivityContext, Attribute, EventName, Failure, Orchestration, OrchestrationContext,
    Registry, RegistryBuilder,
};
use futures::future::{Either, join_all, select};

pub(crate) const HELLO: Orchestration<String, String> = Orchestration::new("hello");
pub(crate) const FAN_OUT: Orchestration<u64, u64> = Orchestration::new("fan-out");
pub(crate) const SAGA: Orchestration<String, String> = Orchestration::new("saga");
pub(crate) const APPROVAL: Orchestration<u64, bool> = Orchestration::new("approval");
pub(crate) const POLLING: Orchestration<u64, u64> = Orchestration::new("polling");
pub(crate) const TREE: Orchestration<u64, u64> = Orchestration::new("tree");
pub(crate) const RACE: Orchestration<u64, String> = Orchestration::new("race");
pub(crate) const PROMISE: Orchestration<u64, u64> = Orchestration::new("promise");
pub(crate) const STATUS: Orchestration<u64, u64> = Orchestration::new("status");
pub(crate) const ATTRIBUTES: Orchestration<u64, u64> = Orchestration::new("attributes");
pub(crate) const AMOUNT: Attribute<i64> = Attribute::new("amount");
pub(crate) const MESSAGES: Orchestration<u64, u64> = Orchestration::new("messages");
const LISTENER: Orchestration<u64, u64> = Orchestration::new("listener");
pub(crate) const MAILBOX: Orchestration<u64, Vec<String>> = Orchestration::new("mailbox");
pub(crate) const LETTER: EventName<String> = EventName::new("letter");
pub(crate) const TAPE: Orchestration<u64, Vec<String>> = Orchestration::new("tape");
pub(crate) const PATCHED: Orchestration<u64, u64> = Orchestration::new("patched");
pub(crate) const VERSIONS: Orchestration<u64, String> = Orchestration::new("versions");
pub(crate) const DECISION: EventName<bool> = EventName::new("decision");
const NEWS: EventName<String> = EventName::new("news");
const GREET: Activity<String, String> = Activity::new("greet");
const SQUARE: Activity<u64, u64> = Activity::new("square");
const BOOK: Activity<String, String> = Activity::new("book");
const UNDO: Activity<String, String> = Activity::new("undo");
const INCREMENT: Activity<u64, u64> = Activity::new("increment");
const NEVER: Activity<u64, u64> = Activity::new("never");

/// One activity.
async fn hello(ctx: OrchestrationContext, name: String) -> Result<String, Failure> {
    ctx.activity(GREET, &name).await
}

/// Many activities at once, that finish in another order than they began in.
async fn fan_out(ctx: OrchestrationContext, count: u64) -> Result<u64, Failure> {
    let inputs: Vec<u64> = (0..count).collect();
    let squares = join_all(inputs.iter().map(|n| ctx.activity(SQUARE, n))).await;
    squares.into_iter().sum()
}

/// Steps that are undone, last first, when one of them fails.
async fn saga(ctx: OrchestrationContext, city: String) -> Result<String, Failure> {
    let mut booked = Vec::new();
    for what in ["flight", "hotel", "moon"] {
        match ctx.activity(BOOK, &format!("{what} to {city}")).await {
            Ok(booking) => booked.push(booking),
            Err(failure) => {
                for booking in booked.iter().rev() {
                    ctx.activity(UNDO, booking).await?;
                }
                return Err(failure);
            }
        }
    }
    Ok(city)
}

/// An event, or a timeout of thirty days; tidies up when it is cancelled.
async fn approval(ctx: OrchestrationContext, order: u64) -> Result<bool, Failure> {
    ctx.set_custom_status(&"waiting")?;
    let decision = ctx.external_event(DECISION);
    let timeout = ctx.sleep(Duration::from_secs(30 * 86_400));
    let decided = match select(decision, timeout).await {
        Either::Left((decision, _)) => decision,
        Either::Right((timeout, _)) => timeout.map(|()| false),
    };
    if ctx.is_cancelled() {
        ctx.activity(INCREMENT, &order).await?;
    }
    decided
}

/// Looks again every minute, each time with an empty history; counts in its state.
async fn polling(ctx: OrchestrationContext, seen: u64) -> Result<u64, Failure> {
    let rounds: u64 = ctx.state("rounds")?.unwrap_or(0);
    if seen >= 3 {
        ctx.clear_state("rounds")?;
        return Ok(rounds);
    }
    ctx.set_state("rounds", &(rounds + 1))?;
    let found = ctx.activity(INCREMENT, &seen).await?;
    ctx.sleep(Duration::from_secs(60)).await?;
    ctx.continue_as_new(&found).await
}

/// Children, and children of children; the deepest fails and is forgiven.
async fn tree(ctx: OrchestrationContext, depth: u64) -> Result<u64, Failure> {
    if depth == 0 {
        return Err(Failure::application("leaf", "nothing below").not_retryable());
    }
    let below = ctx.sub_orchestration(TREE, &(depth - 1)).await.unwrap_or(1);
    Ok(below + 1)
}

/// A timer wins against an activity, a child and another timer, which are given up.
async fn race(ctx: OrchestrationContext, ms: u64) -> Result<String, Failure> {
    let timer = ctx.sleep(Duration::from_millis(ms));
    let others = join_all([
        Either::Left(Either::Left(ctx.activity(NEVER, &1))),
        Either::Left(Either::Right(ctx.sub_orchestration(LISTENER, &1))),
        Either::Right(async {
            ctx.sleep(Duration::from_secs(3_600)).await?;
            Ok(1)
        }),
    ]);
    Ok(match select(timer, others).await {
        Either::Left(_) => "timer".into(),
        Either::Right(_) => "others".into(),
    })
}

/// A promise that a client resolves, and a recorded side effect.
async fn promise(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    let base = ctx.run("base", async { Ok::<u64, Failure>(1) }).await?;
    let promise = ctx.promise::<u64>("answer")?;
    ctx.set_custom_status(promise.token())?;
    ctx.activity(INCREMENT, &number).await?;
    Ok(promise.await? + base)
}

/// Says something of itself while it works, and takes it back.
async fn status(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    ctx.set_custom_status("incrementing")?;
    let number = ctx.activity(INCREMENT, &number).await?;
    ctx.clear_custom_status()?;
    ctx.activity(INCREMENT, &number).await
}

/// Can be found by its number until it has worked.
async fn attributes(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    ctx.set_attribute(AMOUNT, number.cast_signed())?;
    let number = ctx.activity(INCREMENT, &number).await?;
    ctx.clear_attribute(AMOUNT)?;
    ctx.activity(INCREMENT, &number).await
}

/// Starts a listener, sends it news, once with a receipt and once to an instance that never was,
/// and resolves a promise that does not exist.
async fn messages(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    ctx.start_detached(LISTENER, "listener", &number)?;
    ctx.sleep(Duration::from_secs(1)).await?;
    ctx.send_event("listener", NEWS, &"it rains".to_string())
        .detach()?;
    let news = "it still rains".to_string();
    ctx.send_event("listener", NEWS, &news).await?;
    if ctx.send_event("unknown", NEWS, &news).await.is_ok() {
        return Ok(0);
    }
    let token = PromiseToken::new("unknown".into(), ctx.execution_id(), 0);
    ctx.resolve_promise(token, &1_u64)?;
    Ok(number)
}

async fn listener(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    ctx.external_event(NEWS).await?;
    ctx.external_event(NEWS).await?;
    Ok(number)
}

async fn before_the_patch(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    ctx.activity(INCREMENT, &number).await
}

/// Does one thing more than it did, but not for those who were past it.
async fn patched(ctx: OrchestrationContext, number: u64) -> Result<u64, Failure> {
    let number = if ctx.patched("twice").await {
        ctx.activity(INCREMENT, &number).await?
    } else {
        number
    };
    ctx.activity(INCREMENT, &number).await
}

async fn version_one(_: OrchestrationContext, _: u64) -> Result<String, Failure> {
    Ok("one".into())
}

async fn version_two(ctx: OrchestrationContext, number: u64) -> Result<String, Failure> {
    ctx.activity(INCREMENT, &number).await?;
    Ok("two".into())
}

/// Empties its mailbox every hour, whether or not there is something in it.
async fn mailbox(ctx: OrchestrationContext, hours: u64) -> Result<Vec<String>, Failure> {
    let mut letters = Vec::new();
    for _ in 0..hours {
        ctx.sleep(Duration::from_secs(3_600)).await?;
        while let Some(letter) = ctx.try_external_event(LETTER).await? {
            letters.push(letter);
        }
    }
    Ok(letters)
}

/// Reads so many letters from one stream, and the next one from another.
async fn tape(ctx: OrchestrationContext, count: u64) -> Result<Vec<String>, Failure> {
    let mut letters = Vec::new();
    let mut stream = ctx.external_events(LETTER);
    for _ in 0..count {
        letters.extend(stream.next().await.transpose()?);
    }
    drop(stream);
    ctx.sleep(Duration::from_secs(60)).await?;
    letters.extend(ctx.external_events(LETTER).next().await.transpose()?);
    Ok(letters)
}

async fn square(_: ActivityContext, number: u64) -> Result<u64, Failure> {
    tokio::time::sleep(Duration::from_millis(100 / (number + 1))).await;
    Ok(number * number)
}

async fn book(_: ActivityContext, what: String) -> Result<String, Failure> {
    if what.starts_with("moon") {
        return Err(Failure::application("sold_out", what).not_retryable());
    }
    Ok(what)
}

fn everything_else() -> RegistryBuilder {
    Registry::builder()
        .orchestration(HELLO, hello)
        .orchestration(FAN_OUT, fan_out)
        .orchestration(SAGA, saga)
        .orchestration(APPROVAL, approval)
        .orchestration(POLLING, polling)
        .orchestration(TREE, tree)
        .orchestration(RACE, race)
        .orchestration(PROMISE, promise)
        .orchestration(STATUS, status)
        .orchestration(ATTRIBUTES, attributes)
        .orchestration(MESSAGES, messages)
        .orchestration(LISTENER, listener)
        .orchestration(MAILBOX, mailbox)
        .orchestration(TAPE, tape)
        .orchestration(VERSIONS.at("1.0.0"), version_one)
        .orchestration(VERSIONS.at("2.0.0"), version_two)
        .activity(GREET, |_: ActivityContext, name: String| async move {
            Ok::<_, Failure>(format!("Hello, {name}!"))
        })
        .activity(SQUARE, square)
        .activity(BOOK, book)
        .activity(UNDO, |_: ActivityContext, what: String| async move {
            Ok::<_, Failure>(what)
        })
        .activity(INCREMENT, |_: ActivityContext, number: u64| async move {
            Ok::<_, Failure>(number + 1)
        })
        .activity(NEVER, |ctx: ActivityContext, _: u64| async move {
            ctx.cancelled().await;
            Err::<u64, _>(Failure::cancelled("told to stop"))
        })
}

/// The code of today.
pub(crate) fn registry() -> Registry {
    everything_else()
        .orchestration(PATCHED, patched)
        .build()
        .unwrap()
}

/// The code before one orchestration was patched.
pub(crate) fn registry_before_the_patch() -> Registry {
    everything_else()
        .orchestration(PATCHED, before_the_patch)
        .build()
        .unwrap()
}
