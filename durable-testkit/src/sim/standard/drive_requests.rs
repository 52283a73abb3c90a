//! Requests of the standard workload: of clients and of other orchestrations, while the
//! instance is stopped and goes on.

use std::time::Duration;

use durable_runtime::{ClientError, FailureKind, InstanceHandle, RequestError};
use futures::future::join;

use super::code::{ADD, ASKER, COUNTER, Counted, counted};
use super::drive::{Driven, draw_time, interrupt};
use crate::sim::workload::SimClient;

/// How long a caller waits for an answer before it asks again.
const PATIENCE: Duration = Duration::from_secs(60);

/// Clients and an orchestration ask at once; each number is added once.
pub(super) async fn counter(client: &SimClient, number: u64) -> Driven {
    let id = format!("counter-{number}");
    let mut next = 0;
    let mut draw = |count: u64| {
        let numbers: Vec<u64> = (next + 1..=next + count).collect();
        next += count;
        numbers
    };
    let (by_client, by_asker) = (draw(1 + client.below(6)), draw(client.below(4)));
    let all: Vec<u64> = by_client.iter().chain(&by_asker).copied().collect();
    let added = |numbers: &[u64]| -> Vec<u64> {
        let added = numbers.iter().copied();
        added
            .filter(|number| counted(*number) == Counted::Added)
            .collect()
    };
    client.expect_output(id.as_str(), &added(&all).iter().sum::<u64>());
    let count = all.len() as u64;
    let instance = client.start(COUNTER, id.as_str(), &(count, 0)).await?;
    if !by_asker.is_empty() {
        let asker = format!("{id}-asker");
        client.expect_output(asker.as_str(), &(added(&by_asker).len() as u64));
        client.start(ASKER, asker, &(id, by_asker)).await?;
    }
    let asking = ask(client, &instance, by_client);
    let (asked, interrupted) = join(asking, interrupt(client, &instance)).await;
    asked.and(interrupted)
}

async fn ask<O>(client: &SimClient, instance: &InstanceHandle<O>, numbers: Vec<u64>) -> Driven {
    for number in numbers {
        client.sleep(draw_time(client, 5_000)).await;
        // Asked again, it is answered as before.
        for _ in 0..1 + client.below(2) {
            ask_for(client, instance, number).await?;
        }
    }
    Ok(())
}

/// Asks until there is an answer, and checks which.
async fn ask_for<O>(client: &SimClient, instance: &InstanceHandle<O>, number: u64) -> Driven {
    let id = format!("{}-add-{number}", instance.id());
    loop {
        let request = instance.request(ADD, &number).id(id.as_str());
        let came = match request.timeout(PATIENCE).await {
            Ok(_) => Counted::Added,
            Err(RequestError::Rejected(_)) => Counted::Rejected,
            Err(RequestError::Failed(failure)) if failure.kind == FailureKind::Unanswered => {
                Counted::Unanswered
            }
            Err(RequestError::NotAnswered {
                error: ClientError::Suspended { .. },
                ..
            })
            | Err(RequestError::TimedOut { .. }) => {
                client.sleep(draw_time(client, 5_000)).await;
                continue;
            }
            Err(RequestError::NotAnswered { error, .. }) => return Err(error),
            Err(other) => return Err(odd(&other.to_string())),
        };
        return match came == counted(number) {
            true => Ok(()),
            false => Err(odd(&format!("{number}: {came:?}"))),
        };
    }
}

fn odd(what: &str) -> ClientError {
    ClientError::Refused(durable_runtime::Failure::application("odd", what))
}
