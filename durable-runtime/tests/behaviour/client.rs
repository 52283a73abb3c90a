//! The client: starting, waiting, listing, reading, purging, from anywhere.

use std::sync::Arc;
use std::time::Duration;

use durable_core::filter::{Filter, FilterFault};
use durable_core::provider::{PurgeRequest, StatusKind};
use durable_core::{EventId, ExecutionId, InstanceId};
use durable_runtime::{
    Client, ClientError, EventName, Failure, FailureKind, IdReuse, Orchestration,
    OrchestrationContext, Registry,
};
use futures::StreamExt as _;

use crate::world::{EPOCH_MS, World, settle, stop};

const ECHO: Orchestration<u32, u32> = Orchestration::new("echo");
const HOLD: Orchestration<u32, u32> = Orchestration::new("hold");
const GO: EventName<u32> = EventName::new("go");

fn registry() -> Registry {
    Registry::builder()
        .orchestration(ECHO, |_: OrchestrationContext, n: u32| async move {
            match n {
                0 => Err(Failure::application("zero", "nothing to echo")),
                n => Ok(n),
            }
        })
        .orchestration(HOLD, |ctx: OrchestrationContext, n| async move {
            ctx.set_custom_status(&n)?;
            Ok::<_, Failure>(n + ctx.external_event(GO).await?)
        })
        .build()
        .unwrap()
}

fn taken(error: ClientError) -> (u64, StatusKind) {
    match error {
        ClientError::Taken {
            execution_id,
            status,
            ..
        } => (execution_id.get(), status),
        error => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn by_default_an_id_that_is_taken_is_refused() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let hold = client.start(HOLD, "h", &1).await.unwrap();
    let error = client.start(HOLD, "h", &2).await.unwrap_err();
    assert_eq!(taken(error), (1, StatusKind::Pending));
    settle().await;
    let error = client.start(ECHO, "h", &2).await.unwrap_err();
    let sentence = error.to_string();
    assert_eq!(taken(error), (1, StatusKind::Running));
    assert_eq!(
        sentence,
        "the id `h` is taken: its execution 1 is running; use another id, or say with a reuse \
         policy what is to be done"
    );
    hold.raise(GO, &5).await.unwrap();
    assert_eq!(hold.wait().await.unwrap(), 6);
    let error = client.start(HOLD, "h", &2).await.unwrap_err();
    assert_eq!(taken(error), (1, StatusKind::Completed));
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn use_running_takes_the_instance_that_runs_and_refuses_one_that_ended() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let again = |n: u32| client.start(HOLD, "h", &n).reuse(IdReuse::UseRunning);
    let first = again(1).await.unwrap();
    let second = again(2).await.unwrap();
    settle().await;
    let third = again(3).await.unwrap();
    second.raise(GO, &5).await.unwrap();
    for handle in [first, second, third] {
        assert_eq!(handle.wait().await.unwrap(), 6);
    }
    assert_eq!(
        taken(again(4).await.unwrap_err()),
        (1, StatusKind::Completed)
    );
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn restart_ended_starts_anew_in_the_next_execution() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let again = |n: u32| client.start(ECHO, "e", &n).reuse(IdReuse::RestartEnded);
    for n in 1..=5 {
        assert_eq!(again(n).await.unwrap().wait().await.unwrap(), n);
    }
    again(0).await.unwrap().wait().await.unwrap_err();
    let last = again(7).await.unwrap();
    assert_eq!(last.wait().await.unwrap(), 7);
    let executions = last.executions().await.unwrap();
    let numbers: Vec<u64> = executions
        .iter()
        .map(|one| one.execution_id.get())
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn restart_ended_takes_the_instance_that_runs() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    let hold = client.start(HOLD, "h", &1).await.unwrap();
    let same = client
        .start(HOLD, "h", &9)
        .reuse(IdReuse::RestartEnded)
        .await
        .unwrap();
    hold.raise(GO, &1).await.unwrap();
    assert_eq!(same.wait().await.unwrap(), 2);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_restart_begins_cleanly_whatever_the_last_execution_left_in_the_inbox() {
    let world = World::new();
    let client = world.client();
    let hold = client.start(HOLD, "h", &1).await.unwrap();
    // These three are taken, and come too late: the first one ends the execution.
    hold.raise(GO, &1).await.unwrap();
    hold.raise(GO, &100).await.unwrap();
    hold.cancel("too late").await.unwrap();
    let node = world.node(&registry()).await;
    assert_eq!(hold.wait().await.unwrap(), 2);
    stop(node).await;
    // Now without a node in between: the old messages stand before the start.
    let client = world.client();
    let again = client
        .start(HOLD, "h", &10)
        .reuse(IdReuse::RestartEnded)
        .await
        .unwrap();
    again.raise(GO, &5).await.unwrap();
    let node = world.node(&registry()).await;
    assert_eq!(again.wait().await.unwrap(), 15);
    stop(node).await;
    assert_eq!(world.kinds("h", 2).await.len(), 5);
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn messages_that_an_ended_execution_never_read_do_not_reach_its_restart() {
    let world = World::new();
    let store = world.counted();
    let registry = registry();
    let node = world
        .node_on(Arc::new(store.clone()), &registry, Default::default())
        .await;
    let client = world.client();
    let hold = client.start(HOLD, "h", &1).await.unwrap();
    settle().await;
    // The end of the execution is committed while three more messages are on their
    // way, and no turn handles them before the restart.
    use crate::faulty::Fault;
    store.follow(|name, _| match name {
        "commit" => Fault::Slow(100, 0),
        "fetch_instances" | "wait" => Fault::Unavailable,
        _ => Fault::None,
    });
    hold.raise(GO, &1).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    store.follow(|name, _| match name {
        "fetch_instances" | "wait" => Fault::Unavailable,
        _ => Fault::None,
    });
    hold.raise(GO, &100).await.unwrap();
    hold.cancel("too late").await.unwrap();
    hold.terminate("much too late").await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let is_ended = world.status("h").await.kind().is_ended();
    if !is_ended {
        // The node did not get hold of the first event in time: nothing to see here.
        store.follow(|_, _| Fault::None);
        let _ = hold.wait().await;
    }
    let again = client
        .start(HOLD, "h", &10)
        .reuse(IdReuse::RestartEnded)
        .await
        .unwrap();
    again.raise(GO, &5).await.unwrap();
    store.follow(|_, _| Fault::None);
    assert_eq!(again.wait().await.unwrap(), 15);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_start_that_is_sent_again_under_its_name_starts_nothing_new() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    for _ in 0..3 {
        let start = client.start(ECHO, "e", &4).message_id("request-17");
        assert_eq!(start.await.unwrap().wait().await.unwrap(), 4);
    }
    assert_eq!(
        client.instance(ECHO, "e").executions().await.unwrap().len(),
        1
    );
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_execution_id_is_not_used_again_after_a_purge() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    client
        .start(ECHO, "e", &1)
        .await
        .unwrap()
        .wait()
        .await
        .unwrap();
    let purge = PurgeRequest::new(Filter::all(), 10);
    assert_eq!(client.purge(&purge).await.unwrap().instances, 1);
    let error = client.instance(ECHO, "e").record().await.unwrap_err();
    assert!(matches!(error, ClientError::NotFound { .. }));
    let again = client.start(ECHO, "e", &2).await.unwrap();
    assert_eq!(again.wait().await.unwrap(), 2);
    assert_eq!(
        again.record().await.unwrap().execution_id,
        ExecutionId::new(2)
    );
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn bad_names_ids_and_inputs_are_refused_before_anything_is_sent() {
    let world = World::new();
    let store = world.counted();
    let client = Client::new(store.clone());
    let long = "x".repeat(2_000);
    let huge = "x".repeat(5 * 1024 * 1024);
    let refused = [
        client.start(ECHO, "", &1).await.map(drop),
        client.start(ECHO, long.as_str(), &1).await.map(drop),
        client.start(ECHO, "x".repeat(1_020), &1).await.map(drop),
        client.start::<u32, u32>("", "e", &1).await.map(drop),
        client.start::<u32, u32>(&*long, "e", &1).await.map(drop),
        client
            .start::<String, u32>("echo", "e", &huge)
            .await
            .map(drop),
        client.instance(ECHO, "e").raise("", &1).await,
        client.instance(ECHO, "e").raise("go", &huge).await,
    ];
    for answer in refused {
        let Err(ClientError::Refused(failure)) = &answer else {
            panic!("{answer:?}");
        };
        assert_eq!(failure.kind, FailureKind::LimitExceeded);
    }
    assert!(store.all_calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn waiting_is_woken_and_does_not_poll() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let store = world.counted();
    let client = Client::new(store.clone());
    let hold = client.start(HOLD, "h", &1).await.unwrap();
    settle().await;
    let waiting = tokio::spawn({
        let hold = hold.clone();
        async move { hold.wait().await }
    });
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    let reads = store.calls("instance");
    assert!(reads <= 3, "{reads} reads in a day");
    let before = world.elapsed();
    client.instance(HOLD, "h").raise(GO, &1).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), 2);
    assert_eq!(world.elapsed(), before, "woken at once");
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn an_output_of_another_type_is_a_typed_error() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    client.start(ECHO, "e", &4).await.unwrap();
    let other = client.instance::<u32, String>("echo", "e");
    let error = other.wait().await.unwrap_err();
    let ClientError::InvalidPayload(failure) = error else {
        panic!("{error}");
    };
    assert!(
        failure.message.contains("output of orchestration `echo`"),
        "{failure}"
    );
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn instances_are_listed_in_pages_and_by_filter() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    for number in 0..25 {
        client
            .start(ECHO, format!("echo-{number:02}"), &number)
            .await
            .unwrap();
    }
    for number in 0..5 {
        client
            .start(HOLD, format!("hold-{number}"), &number)
            .await
            .unwrap();
    }
    settle().await;
    let mut seen: Vec<InstanceId> = Vec::new();
    let mut next = None;
    let list = client.instances("order by id");
    loop {
        let page = list.page(next.as_ref(), 7).await.unwrap();
        assert!(page.instances.len() <= 7);
        seen.extend(page.instances.into_iter().map(|record| record.instance));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    let streamed: Vec<InstanceId> = list
        .stream()
        .map(|record| record.unwrap().instance)
        .collect()
        .await;
    assert_eq!(streamed, seen);
    assert_eq!(seen.len(), 30);
    assert!(seen.is_sorted());
    let count = |filter: Filter| {
        let list = client.instances(filter);
        async move { list.all().await.unwrap().len() }
    };
    assert_eq!(count(Filter::name("hold")).await, 5);
    assert_eq!(count(Filter::status(StatusKind::Failed)).await, 1);
    assert_eq!(count(Filter::id_starts_with("echo-1")).await, 10);
    assert_eq!(count(Filter::changed_before_ms(EPOCH_MS)).await, 0);
    let text = "name = hold and changed > -1h and status = running";
    assert_eq!(client.instances(text).all().await.unwrap().len(), 5);
    let errors: Vec<_> = client.instances("name =").stream().collect().await;
    let [Err(ClientError::Filter(error))] = errors.as_slice() else {
        panic!("{errors:?}");
    };
    let expected = "a value";
    let found = String::new();
    assert_eq!(error.fault(), &FilterFault::Expected { expected, found });
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn only_ended_instances_are_purged_and_within_their_retention_none() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let client = node.client();
    for number in 1..=5 {
        client
            .start(ECHO, format!("e-{number}"), &number)
            .await
            .unwrap()
            .wait()
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let hold = client.start(HOLD, "hold", &1).await.unwrap();
    settle().await;
    let older_than =
        |seconds: u64| PurgeRequest::new(Filter::changed_before_ms(EPOCH_MS + seconds * 1_000), 2);
    let report = client.purge(&older_than(0)).await.unwrap();
    assert_eq!((report.instances, report.has_more), (0, false));
    let report = client.purge(&older_than(130)).await.unwrap();
    assert_eq!((report.instances, report.has_more), (2, true));
    let report = client.purge(&older_than(100_000)).await.unwrap();
    assert_eq!((report.instances, report.has_more), (2, true));
    let report = client.purge(&older_than(100_000)).await.unwrap();
    assert_eq!((report.instances, report.has_more), (1, false));
    hold.raise(GO, &1).await.unwrap();
    assert_eq!(hold.wait().await.unwrap(), 2);
    stop(node).await;
    assert_eq!(world.store.snapshot().instances.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_history_can_be_read_after_any_event() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let hold = node.client().start(HOLD, "h", &1).await.unwrap();
    hold.raise(GO, &1).await.unwrap();
    hold.wait().await.unwrap();
    let whole = hold
        .history(ExecutionId::FIRST, EventId::UNASSIGNED, 100)
        .await
        .unwrap();
    assert_eq!(whole.entries.len(), 5);
    let part = hold
        .history(ExecutionId::FIRST, EventId::new(2), 2)
        .await
        .unwrap();
    assert_eq!(part.entries, whole.entries[2..4]);
    assert!(part.has_more);
    let rest = hold
        .history(ExecutionId::FIRST, EventId::new(4), 2)
        .await
        .unwrap();
    assert_eq!((rest.entries.len(), rest.has_more), (1, false));
    let none = hold
        .history(ExecutionId::new(7), EventId::UNASSIGNED, 2)
        .await
        .unwrap();
    assert!(none.entries.is_empty());
    stop(node).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_in_another_process_needs_only_the_store() {
    let world = World::new();
    let node = world.node(&registry()).await;
    let here = node.client();
    let there = world.client();
    let started = there.start(HOLD, "h", &1).await.unwrap();
    let seen = here.instance(HOLD, "h");
    let record = seen
        .wait_until(|record| record.custom_status.is_some())
        .await
        .unwrap();
    assert_eq!(record.status.kind(), StatusKind::Running);
    assert_eq!(started.custom_status::<u32>().await.unwrap(), Some(1));
    assert_eq!(started.id(), "h");
    there.instance(HOLD, "h").raise(GO, &3).await.unwrap();
    assert_eq!(seen.wait().await.unwrap(), 4);
    assert_eq!(started.wait().await.unwrap(), 4);
    stop(node).await;
    world.assert_done();
}

#[tokio::test(start_paused = true)]
async fn a_wait_through_suspension_spans_continue_as_new_too() {
    let world = World::new();
    let registry = Registry::builder()
        .orchestration(HOLD, |ctx: OrchestrationContext, n: u32| async move {
            let more = ctx.external_event(GO).await?;
            match more {
                0 => Ok::<_, Failure>(n),
                more => ctx.continue_as_new(&(n + more)).await,
            }
        })
        .build()
        .unwrap();
    let node = world.node(&registry).await;
    let hold = node.client().start(HOLD, "h", &1).await.unwrap();
    let waiting = tokio::spawn({
        let hold = hold.clone();
        async move { hold.wait().through_suspension().await }
    });
    for more in [1, 2, 3] {
        hold.raise(GO, &more).await.unwrap();
        settle().await;
    }
    hold.suspend("lunch").await.unwrap();
    hold.raise(GO, &0).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert!(!waiting.is_finished());
    hold.resume().await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), 7);
    stop(node).await;
    world.assert_done();
}
