//! Continuing as new: what goes along, what stays behind.

use std::time::Duration;

use durable_core::provider::Provider;
use durable_core::{Event, EventId, ExecutionId};
use durable_runtime::{EventName, Failure, Orchestration, OrchestrationContext, Registry};

use crate::world::{World, settle, stop};

const LOOP: Orchestration<u32, Vec<u32>> = Orchestration::new("loop");
const NUMBER: EventName<u32> = EventName::new("number");

fn registry<R>(code: impl Fn(OrchestrationContext, u32) -> R + Send + Sync + 'static) -> Registry
where
    R: Future<Output = Result<Vec<u32>, Failure>> + Send + 'static,
{
    Registry::builder()
        .orchestration(LOOP, code)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_chain_that_continues_without_any_input_comes_to_its_end() {
    let world = World::new();
    let registry = registry(|ctx, left| async move {
        if left > 0 {
            return ctx.continue_as_new(&(left - 1)).await;
        }
        Ok(vec![ctx.execution_id().get() as u32])
    });
    let node = world.node(&registry).await;
    let instance = node.client().start(LOOP, "l", &50).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), [51]);
    stop(node).await;
    for execution in 1..=50 {
        assert_eq!(
            world.kinds("l", execution).await,
            ["OrchestrationStarted", "OrchestrationContinuedAsNew"]
        );
    }
    assert_eq!(
        world.kinds("l", 51).await,
        ["OrchestrationStarted", "OrchestrationCompleted"]
    );
    assert_eq!(world.elapsed(), Duration::ZERO);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_endless_chain_can_be_terminated_and_lets_others_run() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(LOOP, |ctx: OrchestrationContext, n: u32| async move {
            ctx.continue_as_new::<_, Vec<u32>>(&(n + 1)).await
        })
        .orchestration("other", |_: OrchestrationContext, n: u32| async move {
            Ok::<_, Failure>(n)
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let client = node.client();
    let endless = client.start(LOOP, "l", &0).await.unwrap();
    for number in 0..10 {
        let id = format!("other-{number}");
        let other = client
            .start::<u32, u32>("other", id, &number)
            .await
            .unwrap();
        assert_eq!(other.wait().await.unwrap(), number);
    }
    endless.terminate("enough").await.unwrap();
    endless.wait().await.unwrap_err();
    let executions = endless.executions().await.unwrap();
    assert!(executions.len() > 1);
    let last = executions.last().unwrap().execution_id;
    let last = world.kinds("l", last.get()).await;
    assert_eq!(last[0], "OrchestrationStarted");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn unread_events_go_along_in_order_and_read_ones_stay_read() {
    let world = World::new();
    // Reads one number per execution.
    let registry = registry(|ctx, round| async move {
        let mut numbers: Vec<u32> = ctx.state("numbers")?.unwrap_or_default();
        if round == 0 {
            ctx.sleep(Duration::from_secs(1)).await?;
        }
        numbers.push(ctx.external_event(NUMBER).await?);
        ctx.set_state("numbers", &numbers)?;
        if numbers.len() == 5 {
            return Ok(numbers);
        }
        ctx.continue_as_new(&(round + 1)).await
    });
    let node = world.node(&registry).await;
    let instance = node.client().start(LOOP, "l", &0).await.unwrap();
    for number in [5, 4, 3] {
        instance
            .raise_with_id(format!("m-{number}"), NUMBER, &number)
            .await
            .unwrap();
    }
    settle().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    // Read in execution 1, sent again in execution 4.
    instance.raise_with_id("m-5", NUMBER, &5).await.unwrap();
    settle().await;
    for number in [2, 1] {
        instance
            .raise_with_id(format!("m-{number}"), NUMBER, &number)
            .await
            .unwrap();
    }
    assert_eq!(instance.wait().await.unwrap(), [5, 4, 3, 2, 1]);
    stop(node).await;
    let Event::OrchestrationStarted { carried, .. } = &world.history("l", 2).await[0].event else {
        panic!("no start");
    };
    let unread: Vec<_> = carried
        .as_ref()
        .unwrap()
        .unread_events
        .iter()
        .map(|event| &*event.data)
        .collect();
    assert_eq!(unread, ["4", "3"]);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn state_and_custom_status_go_along_until_they_are_changed() {
    let world = World::new();
    let registry = registry(|ctx, round| async move {
        let seen = |ctx: &OrchestrationContext| {
            Ok::<_, Failure>((
                ctx.state::<u32>("kept")?,
                ctx.state::<u32>("cleared")?,
                ctx.custom_status::<u32>()?,
            ))
        };
        match round {
            0 => {
                ctx.set_state("kept", &1)?;
                ctx.set_state("cleared", &2)?;
                ctx.set_custom_status(&3)?;
                ctx.continue_as_new(&1).await
            }
            1 => {
                assert_eq!(seen(&ctx)?, (Some(1), Some(2), Some(3)));
                ctx.clear_state("cleared")?;
                ctx.sleep(Duration::from_secs(1)).await?;
                ctx.continue_as_new(&2).await
            }
            _ => {
                assert_eq!(seen(&ctx)?, (Some(1), None, Some(3)));
                Ok(vec![1])
            }
        }
    });
    let node = world.node(&registry).await;
    let instance = node.client().start(LOOP, "l", &0).await.unwrap();
    settle().await;
    assert_eq!(instance.custom_status::<u32>().await.unwrap(), Some(3));
    assert_eq!(instance.wait().await.unwrap(), [1]);
    assert_eq!(instance.custom_status::<u32>().await.unwrap(), Some(3));
    stop(node).await;
    assert_eq!(
        world.kinds("l", 2).await,
        [
            "OrchestrationStarted",
            "StateCleared",
            "TimerCreated",
            "TimerFired",
            "OrchestrationContinuedAsNew",
        ]
    );
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_requested_cancellation_goes_along() {
    let world = World::new();
    let registry = registry(|ctx, round| async move {
        if round == 0 {
            ctx.external_event(NUMBER).await.unwrap_err();
            return ctx.continue_as_new(&1).await;
        }
        assert_eq!(ctx.cancel_reason().as_deref(), Some("please"));
        Ok(vec![u32::from(ctx.is_cancelled())])
    });
    let node = world.node(&registry).await;
    let instance = node.client().start(LOOP, "l", &0).await.unwrap();
    settle().await;
    instance.cancel("please").await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), [1]);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn messages_that_were_not_consumed_are_for_the_next_execution() {
    let world = World::new();
    let registry = registry(|ctx, left| async move {
        let mut numbers: Vec<u32> = ctx.state("numbers")?.unwrap_or_default();
        numbers.push(ctx.external_event(NUMBER).await?);
        ctx.set_state("numbers", &numbers)?;
        if left == 0 {
            return Ok(numbers);
        }
        ctx.continue_as_new(&(left - 1)).await
    });
    let instance = world.client().start(LOOP, "l", &99).await.unwrap();
    for number in 0..100 {
        instance.raise(NUMBER, &number).await.unwrap();
    }
    // All hundred wait in the inbox when the node comes.
    let node = world.node(&registry).await;
    assert_eq!(instance.wait().await.unwrap(), (0..100).collect::<Vec<_>>());
    stop(node).await;
    assert_eq!(instance.executions().await.unwrap().len(), 100);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_new_execution_takes_the_newest_version_unless_it_is_told_to_stay() {
    let world = World::new();
    let start = EventName::<()>::new("start");
    let old = move |ctx: OrchestrationContext, stays: u32| async move {
        if ctx.execution_id() > ExecutionId::FIRST {
            return Ok(vec![1]);
        }
        ctx.external_event(start).await?;
        match stays {
            0 => ctx.continue_as_new(&stays).await,
            _ => ctx.continue_as_new_same_version(&stays).await,
        }
    };
    let first = Registry::builder()
        .orchestration(LOOP.at("1.0.0"), old)
        .build()
        .unwrap();
    let both = Registry::builder()
        .merge(first.clone())
        .orchestration(LOOP.at("2.0.0"), |_: OrchestrationContext, _| async move {
            Ok::<_, Failure>(vec![2])
        })
        .build()
        .unwrap();
    let node = world.node(&first).await;
    let client = node.client();
    let moves = client.start(LOOP, "moves", &0).await.unwrap();
    let stays = client.start(LOOP, "stays", &1).await.unwrap();
    settle().await;
    stop(node).await;
    let node = world.node(&both).await;
    moves.raise(start, &()).await.unwrap();
    stays.raise(start, &()).await.unwrap();
    assert_eq!(moves.wait().await.unwrap(), [2]);
    assert_eq!(stays.wait().await.unwrap(), [1]);
    let version = |id: &'static str| {
        let store = world.store.clone();
        async move {
            store
                .instance(&id.into())
                .await
                .unwrap()
                .unwrap()
                .version
                .unwrap()
        }
    };
    assert_eq!(version("moves").await, "2.0.0");
    assert_eq!(version("stays").await, "1.0.0");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_chain_goes_on_after_a_crash_between_two_of_its_executions() {
    let world = World::new();
    let registry = registry(|ctx, left| async move {
        if left > 0 {
            return ctx.continue_as_new(&(left - 1)).await;
        }
        Ok(vec![ctx.execution_id().get() as u32])
    });
    use crate::faulty::Fault;
    let dying = world.faulty(|name, _| match name {
        "commit" => Fault::DieAfter,
        _ => Fault::None,
    });
    let instance = world.client().start(LOOP, "l", &9).await.unwrap();
    let options = durable_runtime::RuntimeOptions::default();
    let node = world
        .node_on(std::sync::Arc::new(dying.clone()), &registry, options)
        .await;
    dying.died().await;
    drop(node);
    let tail = world.store.instance(&"l".into()).await.unwrap().unwrap();
    assert_eq!(tail.execution_id, ExecutionId::new(2));
    assert_eq!(
        tail.last_event_id,
        EventId::new(2),
        "it ends by continuing as new"
    );
    let node = world.node(&registry).await;
    assert_eq!(instance.wait().await.unwrap(), [10]);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn the_hint_says_when_it_is_time_to_continue() {
    let world = World::new();
    let registry = registry(|ctx, round| async move {
        let mut rounds = 0;
        while !ctx.should_continue_as_new() {
            ctx.sleep(Duration::from_secs(1)).await?;
            rounds += 1;
        }
        assert!(ctx.history_len() >= 10);
        match round {
            2 => Ok(vec![rounds]),
            _ => ctx.continue_as_new(&(round + 1)).await,
        }
    });
    let options = durable_runtime::RuntimeOptions::default().continue_as_new_after(10);
    let node = world.node_with(&registry, options).await;
    let instance = node.client().start(LOOP, "l", &0).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), [5]);
    stop(node).await;
    assert_eq!(world.kinds("l", 1).await.len(), 12);
    world.assert_done();
}
