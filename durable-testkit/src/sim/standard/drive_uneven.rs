//! The client of the standard workload, where it meets nodes that differ, and ids
//! that are used again.

use durable_core::filter::Filter;
use durable_core::provider::{IdReuse, PurgeRequest, StatusKind};
use durable_runtime::InstanceHandle;

use super::code::{FAN_OUT, PARENT};
use super::drive::{
    Driven, draw_task, draw_tasks, draw_time, interrupt, raise_and_interrupt, sum, unless_ended,
};
use super::uneven::{HAZARDOUS, MENDED, Mended, NEW_VERSION, SPECIALIST, UPGRADED};
use crate::sim::workload::SimClient;

/// How often a stuck instance is resumed before its cause is mended.
const MAX_RESUMES: usize = 5;

/// Begins on whatever version its first node has, or on the new one.
pub(super) async fn upgraded(client: &SimClient, number: u64) -> Driven {
    let id = format!("upgraded-{number}");
    let count = 1 + client.below(6);
    client.expect_output(id.as_str(), &(1..=count).sum::<u64>());
    let instance = match client.below(2) {
        0 => client.start(UPGRADED, id, &(count, 0)).await?,
        _ => {
            let newest = UPGRADED.at(NEW_VERSION);
            client.start(newest, id, &(count, 0)).await?
        }
    };
    raise_and_interrupt(client, &instance, count).await
}

pub(super) async fn specialist(client: &SimClient, number: u64) -> Driven {
    let id = format!("specialist-{number}");
    let tasks = draw_tasks(client, 5);
    client.expect_output(id.as_str(), &sum(&tasks));
    let instance = client.start(SPECIALIST, id, &tasks).await?;
    interrupt(client, &instance).await
}

/// Work that takes its worker down always, now and then, or never.
pub(super) async fn hazardous(client: &SimClient, number: u64) -> Driven {
    let id = format!("hazardous-{number}");
    let blasts = match client.below(3) {
        0 => 0,
        1 => 1,
        _ => u32::MAX,
    };
    // Its worker may die of other causes, too.
    client.expect_output(id.as_str(), &"set aside");
    if blasts < u32::MAX {
        client.expect_output(id.as_str(), &"survived");
    }
    client.start(HAZARDOUS, id, &blasts).await.map(drop)
}

/// Resumed whenever it is stuck. First it may come to a node that runs it; in the end
/// every node does.
pub(super) async fn mended(client: &SimClient, number: u64, mended: &Mended) -> Driven {
    let id = format!("mended-{number}");
    let task = draw_task(client);
    client.expect_output(id.as_str(), &(2 * task.value));
    client.expect_terminated(id.as_str());
    let instance = client.start(MENDED, id, &task).await?;
    for resumed in 0.. {
        let rests = |status: StatusKind| status.is_ended() || status == StatusKind::Suspended;
        let record = instance.wait_until(|record| rests(record.status.kind()));
        if record.await?.status.kind().is_ended() {
            break;
        }
        if resumed == MAX_RESUMES {
            mended.add(instance.id());
        }
        client.sleep(draw_time(client, 20_000)).await;
        unless_ended(instance.resume().await)?;
    }
    Ok(())
}

/// Removed when it has ended, while its children may still run, and started anew.
pub(super) async fn purged(client: &SimClient, number: u64) -> Driven {
    let id = format!("purged-{number}.");
    let first = vec![draw_tasks(client, 2), draw_tasks(client, 2)];
    let second = vec![draw_tasks(client, 2)];
    for children in [&first, &second] {
        // A start that comes late may come after the purge.
        let total: u64 = children.iter().map(|tasks| sum(tasks)).sum();
        client.expect_output(id.as_str(), &total);
    }
    let instance = client.start(PARENT, id.as_str(), &first).await?;
    if client.below(3) == 0 {
        // So may this.
        client.expect_terminated(id.as_str());
        client.sleep(draw_time(client, 10_000)).await;
        unless_ended(instance.terminate("purged").await)?;
    }
    ended(&instance).await?;
    let purge = PurgeRequest::new(Filter::id_starts_with(id.as_str()), 10);
    client.purge(&purge).await?;
    let again = client.start(PARENT, id, &second);
    again.reuse(IdReuse::RestartEnded).await.map(drop)
}

/// Started again under the same id when it has ended.
pub(super) async fn restarted(client: &SimClient, number: u64) -> Driven {
    let id = format!("restarted-{number}");
    let (first, second) = (draw_tasks(client, 3), draw_tasks(client, 3));
    client.expect_output(id.as_str(), &sum(&second));
    let instance = client.start(FAN_OUT, id.as_str(), &first).await?;
    ended(&instance).await?;
    let again = client.start(FAN_OUT, id, &second);
    let instance = again.reuse(IdReuse::RestartEnded).await?;
    interrupt(client, &instance).await
}

async fn ended<O>(instance: &InstanceHandle<O>) -> Driven {
    let ended = instance.wait_until(|record| record.status.kind().is_ended());
    ended.await.map(drop)
}
