//! The client of the standard workload: starts instances, tells them things, and
//! knows what they must return.

use std::time::Duration;

use durable_runtime::{ClientError, InstanceHandle};
use futures::future::{join, try_join_all};

use super::code::{
    COLLECTOR, CONFIRM, COURIER, DETACHER, FAN_OUT, ITEM, LOOPER, PARENT, PROMISER, RACER, RUNNER,
    SAGA, SLEEPER, TIMED, Task,
};
use super::drive_uneven as uneven;
use super::uneven::Mended;
use crate::sim::workload::SimClient;

pub(super) type Driven = Result<(), ClientError>;

pub(super) async fn drive(client: SimClient, mended: Mended) -> Driven {
    let count = 12 + client.below(16);
    let parts = client.parts(count);
    let instances = parts
        .iter()
        .map(|(number, client)| drive_one(client, *number, &mended));
    try_join_all(instances).await.map(drop)
}

async fn drive_one(client: &SimClient, number: u64, mended: &Mended) -> Driven {
    client.sleep(draw_time(client, 300_000)).await;
    match client.below(21) {
        0 => fan_out(client, number).await,
        1 => sleeper(client, number).await,
        2 => racer(client, number).await,
        3 => collector(client, number).await,
        4 => looper(client, number).await,
        5 => parent(client, number).await,
        6 => saga(client, number).await,
        7 => runner(client, number).await,
        8 => detacher(client, number).await,
        9 => promiser(client, number).await,
        10 => uneven::upgraded(client, number).await,
        11 => uneven::specialist(client, number).await,
        12 => uneven::hazardous(client, number).await,
        13 => uneven::mended(client, number, mended).await,
        14 => uneven::purged(client, number).await,
        15 => uneven::restarted(client, number).await,
        16 => timed(client, number).await,
        17 => courier(client, number).await,
        18 => started_with_events(client, number).await,
        19 => overdue(client, number).await,
        _ => terminated(client, number).await,
    }
}

async fn fan_out(client: &SimClient, number: u64) -> Driven {
    let id = format!("fan-out-{number}");
    let tasks = draw_tasks(client, 6);
    client.expect_output(id.as_str(), &sum(&tasks));
    let instance = client.start(FAN_OUT, id, &tasks).await?;
    interrupt(client, &instance).await
}

async fn sleeper(client: &SimClient, number: u64) -> Driven {
    let id = format!("sleeper-{number}");
    let waits: Vec<u64> = (0..1 + client.below(5))
        .map(|_| client.below(30_000))
        .collect();
    client.expect_output(id.as_str(), &waits.iter().sum::<u64>());
    let instance = client.start(SLEEPER, id, &waits).await?;
    interrupt(client, &instance).await
}

async fn racer(client: &SimClient, number: u64) -> Driven {
    let id = format!("racer-{number}");
    let race = (draw_task(client), client.below(20_000));
    client.expect_output(id.as_str(), &race.0.value);
    client.expect_output(id.as_str(), &0u64);
    let instance = client.start(RACER, id, &race).await?;
    interrupt(client, &instance).await
}

async fn timed(client: &SimClient, number: u64) -> Driven {
    let id = format!("timed-{number}");
    let mut task = draw_task(client);
    // The last failure would be the answer if its retry came after the timeout.
    task.failures = 0;
    let is_served = client.below(3) > 0;
    if is_served {
        client.expect_output(id.as_str(), &task.value);
    }
    client.expect_output(id.as_str(), &0u64);
    let call = (task, 1 + client.below(20_000), is_served);
    let instance = client.start(TIMED, id, &call).await?;
    interrupt(client, &instance).await
}

async fn collector(client: &SimClient, number: u64) -> Driven {
    let id = format!("collector-{number}");
    let count = 1 + client.below(6);
    client.expect_output(id.as_str(), &(1..=count).sum::<u64>());
    let instance = client.start(COLLECTOR, id, &count).await?;
    raise_and_interrupt(client, &instance, count).await
}

async fn looper(client: &SimClient, number: u64) -> Driven {
    let id = format!("looper-{number}");
    let count = 1 + client.below(12);
    client.expect_output(id.as_str(), &(1..=count).sum::<u64>());
    let instance = client.start(LOOPER, id, &(count, 0)).await?;
    raise_and_interrupt(client, &instance, count).await
}

async fn parent(client: &SimClient, number: u64) -> Driven {
    let id = format!("parent-{number}");
    let children: Vec<Vec<Task>> = (0..1 + client.below(3))
        .map(|_| draw_tasks(client, 3))
        .collect();
    let total: u64 = children.iter().map(|tasks| sum(tasks)).sum();
    client.expect_output(id.as_str(), &total);
    let instance = client.start(PARENT, id, &children).await?;
    interrupt(client, &instance).await
}

async fn saga(client: &SimClient, number: u64) -> Driven {
    let id = format!("saga-{number}");
    let tasks = draw_tasks(client, 3);
    client.expect_output(id.as_str(), &"compensated");
    let instance = client.start(SAGA, id.as_str(), &tasks).await?;
    client.sleep(draw_time(client, 30_000)).await;
    if client.below(2) == 0 {
        return unless_ended(instance.cancel("changed my mind").await);
    }
    let is_confirmed = client.below(2) == 0;
    if is_confirmed {
        client.expect_output(id.as_str(), &"confirmed");
    }
    unless_ended(
        instance
            .raise_with_id(format!("{id}-confirm"), CONFIRM, &is_confirmed)
            .await,
    )
}

async fn runner(client: &SimClient, number: u64) -> Driven {
    let id = format!("runner-{number}");
    let count = 1 + client.below(6);
    client.expect_output(id.as_str(), &(0..count).sum::<u64>());
    let instance = client.start(RUNNER, id, &count).await?;
    interrupt(client, &instance).await
}

async fn detacher(client: &SimClient, number: u64) -> Driven {
    let id = format!("detacher-{number}");
    let leaf = format!("{id}-leaf");
    let tasks = draw_tasks(client, 3);
    client.expect_output(id.as_str(), &1u64);
    client.expect_output(leaf.as_str(), &sum(&tasks));
    client.start(DETACHER, id, &(leaf, tasks)).await.map(drop)
}

async fn promiser(client: &SimClient, number: u64) -> Driven {
    let id = format!("promiser-{number}");
    let resolver = format!("{id}-resolver");
    client.expect_output(id.as_str(), &42u64);
    let instance = client.start(PROMISER, id, &resolver).await?;
    interrupt(client, &instance).await
}

async fn courier(client: &SimClient, number: u64) -> Driven {
    let id = format!("courier-{number}");
    let value = client.below(1_000);
    client.expect_output(id.as_str(), &value);
    let instance = client.start(COURIER, id, &value).await?;
    interrupt(client, &instance).await
}

/// Started by the first of several clients that have an event for it, perhaps with a delay.
async fn started_with_events(client: &SimClient, number: u64) -> Driven {
    let id = format!("with-events-{number}");
    let count = 1 + client.below(4);
    let delay = draw_time(client, 2_000);
    client.expect_output(id.as_str(), &(1..=count).sum::<u64>());
    let starts = (1..=count).map(|item| {
        let start = client.start(COLLECTOR, id.as_str(), &count).after(delay);
        start.with_event(ITEM, &item).into_future()
    });
    try_join_all(starts).await.map(drop)
}

/// Ended by the store when its deadline has passed, perhaps before it began.
async fn overdue(client: &SimClient, number: u64) -> Driven {
    let id = format!("overdue-{number}");
    client.expect_terminated(id.as_str());
    let start = client
        .start(COLLECTOR, id, &1)
        .deadline(draw_time(client, 20_000));
    let start = match client.below(2) {
        0 => start,
        _ => start.after(draw_time(client, 40_000)),
    };
    let instance = start.await?;
    interrupt(client, &instance).await
}

/// Ended from outside, with children or work under way.
async fn terminated(client: &SimClient, number: u64) -> Driven {
    let id = format!("terminated-{number}");
    let children = vec![draw_tasks(client, 3), draw_tasks(client, 3)];
    let instance = client.start(PARENT, id, &children).await?;
    client.sleep(draw_time(client, 20_000)).await;
    unless_ended(instance.terminate("enough").await)
}

/// Events come in while the instance is stopped, too.
pub(super) async fn raise_and_interrupt<O>(
    client: &SimClient,
    instance: &InstanceHandle<O>,
    count: u64,
) -> Driven {
    let (raised, interrupted) = join(
        raise_items(client, instance, count),
        interrupt(client, instance),
    )
    .await;
    raised.and(interrupted)
}

/// Raises events, some of them twice.
pub(super) async fn raise_items<O>(
    client: &SimClient,
    instance: &InstanceHandle<O>,
    count: u64,
) -> Driven {
    for item in 1..=count {
        client.sleep(draw_time(client, 5_000)).await;
        let message_id = format!("{}-item-{item}", instance.id());
        for _ in 0..1 + client.below(2) {
            unless_ended(
                instance
                    .raise_with_id(message_id.as_str(), ITEM, &item)
                    .await,
            )?;
        }
    }
    Ok(())
}

/// Suspends the instance for a while, perhaps.
pub(super) async fn interrupt<O>(client: &SimClient, instance: &InstanceHandle<O>) -> Driven {
    if client.below(4) > 0 {
        return Ok(());
    }
    client.sleep(draw_time(client, 10_000)).await;
    unless_ended(instance.suspend("maintenance").await)?;
    client.sleep(draw_time(client, 20_000)).await;
    unless_ended(instance.resume().await)
}

/// It may have ended before it heard of it.
pub(super) fn unless_ended(result: Driven) -> Driven {
    match result {
        Err(ClientError::Ended { .. }) => Ok(()),
        result => result,
    }
}

pub(super) fn draw_time(client: &SimClient, below_ms: u64) -> Duration {
    Duration::from_millis(client.below(below_ms))
}

pub(super) fn draw_tasks(client: &SimClient, most: u64) -> Vec<Task> {
    (0..1 + client.below(most))
        .map(|_| draw_task(client))
        .collect()
}

pub(super) fn draw_task(client: &SimClient) -> Task {
    Task {
        value: 1 + client.below(1_000),
        millis: match client.below(4) {
            0 => 0,
            1 => client.below(100),
            2 => client.below(3_000),
            _ => client.below(30_000),
        },
        failures: match client.below(4) {
            0 => 1 + u32::from(client.below(2) == 0),
            _ => 0,
        },
    }
}

pub(super) fn sum(tasks: &[Task]) -> u64 {
    tasks.iter().map(|task| task.value).sum()
}
