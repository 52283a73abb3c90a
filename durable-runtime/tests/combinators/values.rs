//! What the context tells is the same in every replay.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use durable_core::Event;
use durable_runtime::{
    Failure, Orchestration, OrchestrationContext, Registry, ReplayFailure, Replayer,
};

use crate::scenario::{Log, Scenario, WORK, distinct, pause, work};
use crate::world::{EPOCH_MS, World, options, shown};

use crate::dice::Dice;

const CODE: Orchestration<u64, Log> = Orchestration::new("code");

fn registry<F, R>(code: F) -> Registry
where
    F: Fn(OrchestrationContext, u64) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Log, Failure>> + Send + 'static,
{
    let workers = crate::scenario::workers();
    workers.orchestration(CODE, code).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn time_randomness_and_position_are_the_same_again() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let mut log = Log::new();
        for round in 0..4 {
            log.push(format!(
                "{:?} {} {} {} {} {}",
                ctx.now(),
                ctx.uuid(),
                ctx.random(),
                ctx.history_len(),
                ctx.execution_id(),
                ctx.instance_id(),
            ));
            let (_, slept) = tokio::join!(
                ctx.activity(WORK, &work(round, &mut dice)),
                ctx.sleep(pause(&mut dice)),
            );
            slept?;
        }
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert_eq!(
        distinct(&logs),
        logs.len(),
        "no two instances draw the same"
    );
}

#[tokio::test(start_paused = true)]
async fn now_is_the_time_of_the_latest_input() {
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let ms = |time: SystemTime| {
            let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
            (since.as_millis() - u128::from(EPOCH_MS)).to_string()
        };
        let mut log = vec![ms(ctx.now())];
        ctx.sleep(Duration::from_millis(1_500)).await?;
        log.push(ms(ctx.now()));
        ctx.sleep_until(SystemTime::UNIX_EPOCH + Duration::from_millis(EPOCH_MS + 5_000))
            .await?;
        log.push(ms(ctx.now()));
        // A timer counts from where it was made, not from where it is awaited.
        let early = ctx.sleep(Duration::from_secs(1));
        ctx.sleep(Duration::from_millis(400)).await?;
        early.await?;
        log.push(ms(ctx.now()));
        Ok(log)
    }
    let mut world = World::new(registry(code)).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    assert_eq!(
        instance.wait().await.unwrap(),
        ["0", "1500", "5000", "6000"]
    );
    world.stop().await;
    world.check_all().await;
}

#[tokio::test(start_paused = true)]
async fn executions_and_instances_draw_different_numbers() {
    async fn code(ctx: OrchestrationContext, round: u64) -> Result<Log, Failure> {
        let mut drawn: Log = ctx.state("drawn")?.unwrap_or_default();
        drawn.push(ctx.uuid().to_string());
        drawn.push(ctx.random().to_string());
        ctx.set_state("drawn", &drawn)?;
        if round < 3 {
            return ctx.continue_as_new(&(round + 1)).await;
        }
        Ok(drawn)
    }
    let mut world = World::new(registry(code)).await;
    let mut all = BTreeSet::new();
    for id in ["a", "b"] {
        let instance = world.client().start(CODE, id, &0).await.unwrap();
        let drawn = instance.wait().await.unwrap();
        assert_eq!(drawn.len(), 8);
        all.extend(drawn);
    }
    assert_eq!(all.len(), 16);
    world.stop().await;
    assert_eq!(world.check_all().await, 8);
}

#[tokio::test(start_paused = true)]
async fn replaying_is_said_of_all_that_was_done_before_and_of_nothing_else() {
    static SAID: Mutex<Vec<(u64, bool)>> = Mutex::new(Vec::new());
    async fn code(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let say = || {
            let mut said = SAID.lock().unwrap();
            said.push((ctx.history_len(), ctx.is_replaying()));
        };
        say();
        let (a, b) = tokio::join!(
            async {
                ctx.sleep(Duration::from_secs(1)).await?;
                // Nothing follows this in the history until the other one is done.
                say();
                Ok::<_, Failure>(())
            },
            ctx.sleep(Duration::from_secs(2)),
        );
        a.and(b)?;
        say();
        ctx.run("run", async { Ok::<_, Failure>(()) }).await?;
        say();
        Ok(Log::new())
    }
    let options = options().verify_replay(false);
    let mut world = World::with(registry(code), options).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    instance.wait().await.unwrap();
    world.stop().await;
    let live = std::mem::take(&mut *SAID.lock().unwrap());
    assert_eq!(live, [(1, false), (4, false), (5, false), (5, false)]);
    let history = world.history(instance.id(), 1).await;
    for (last, expected) in [(3, 1), (4, 2), (5, 3), (6, 4), (7, 4)] {
        world
            .replayer
            .replay_up_to(&history, durable_core::EventId::new(last))
            .unwrap();
        let said = std::mem::take(&mut *SAID.lock().unwrap());
        assert_eq!(said.len(), expected, "up to {last}");
        assert!(said.iter().all(|(_, replaying)| *replaying), "{said:?}");
    }
    // After a restart only what is new is not a replay.
    let instance = world
        .client_after_restart()
        .await
        .start(CODE, "j", &0)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    SAID.lock().unwrap().clear();
    world.restart().await;
    instance.wait().await.unwrap();
    let said = std::mem::take(&mut *SAID.lock().unwrap());
    assert_eq!(said, [(1, true), (4, true), (5, false), (5, false)]);
    world.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_history_says_that_it_is_time_to_continue_as_new() {
    async fn code(ctx: OrchestrationContext, round: u64) -> Result<Log, Failure> {
        let mut rounds = 0;
        while !ctx.should_continue_as_new() {
            ctx.sleep(Duration::from_secs(1)).await?;
            rounds += 1;
        }
        if round < 2 {
            return ctx.continue_as_new(&(round + 1)).await;
        }
        Ok(vec![rounds.to_string()])
    }
    let options = options().continue_as_new_after(20);
    let mut world = World::with(registry(code), options).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    assert_eq!(instance.wait().await.unwrap(), ["10"]);
    world.stop().await;
    for execution in 1..=3 {
        let history = world.history(instance.id(), execution).await;
        assert_eq!(history.entries.len(), 22, "{}", shown(&history));
    }
    world.check_all().await;
}

#[tokio::test(start_paused = true)]
async fn the_recorded_state_wins() {
    static SEEN: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    fn writes(value: u64) -> Registry {
        registry(move |ctx: OrchestrationContext, _| async move {
            let note = || {
                let state: Option<u64> = ctx.state("key")?;
                let status: Option<u64> = ctx.custom_status()?;
                SEEN.lock().unwrap().extend(state.into_iter().chain(status));
                Ok::<_, Failure>(())
            };
            ctx.set_state("key", &value)?;
            ctx.set_custom_status(&value)?;
            note()?;
            ctx.sleep(Duration::from_secs(1)).await?;
            note()?;
            ctx.clear_state("key")?;
            assert_eq!(ctx.state::<u64>("key")?, None);
            Ok(Log::new())
        })
    }
    let mut world = World::new(writes(1)).await;
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    instance.wait().await.unwrap();
    world.stop().await;
    SEEN.lock().unwrap().clear();
    let history = world.history(instance.id(), 1).await;
    let replayed = Replayer::new(writes(2)).replay(&history).unwrap();
    assert!(replayed.is_exact());
    assert_eq!(*SEEN.lock().unwrap(), [1, 1, 1, 1]);
}

/// Records a history of this code and stops before its last timer.
async fn recorded(world: &mut World) -> durable_core::History {
    let instance = world.client().start(CODE, "i", &0).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    world.stop().await;
    let history = world.history(instance.id(), 1).await;
    world.check(&history);
    history
}

#[tokio::test(start_paused = true)]
async fn a_patch_is_true_for_new_executions_and_false_for_those_that_went_past_it() {
    async fn old(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        ctx.sleep(Duration::from_secs(1)).await?;
        ctx.sleep(Duration::from_secs(1)).await?;
        Ok(Log::new())
    }
    async fn new(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let mut log = Log::new();
        for _ in 0..2 {
            let is_new = ctx.patched("tidy").await;
            log.push(is_new.to_string());
            if is_new {
                ctx.set_state("tidy", &true)?;
            }
            ctx.sleep(Duration::from_secs(1)).await?;
        }
        Ok(log)
    }
    let mut world = World::new(registry(new)).await;
    let history = recorded(&mut world).await;
    let kinds: Vec<&str> = history
        .entries
        .iter()
        .map(|e| e.event.kind().name())
        .collect();
    assert_eq!(
        kinds,
        [
            "OrchestrationStarted",
            "PatchMarked",
            "StateSet",
            "TimerCreated",
            "TimerFired",
            "StateSet",
            "TimerCreated",
        ],
        "the mark is made once"
    );
    // The old code does not know the mark.
    let failure = Replayer::new(registry(old)).replay(&history).unwrap_err();
    let ReplayFailure::Violation(violation) = failure else {
        panic!("{failure}");
    };
    assert_eq!(violation.event_id.get(), 2);

    let mut world = World::new(registry(old)).await;
    let history = recorded(&mut world).await;
    let replayed = Replayer::new(registry(new)).replay(&history).unwrap();
    assert!(replayed.is_exact(), "{:?}", replayed.appended);
    // It goes on with the new code, and the answer holds.
    let mut world = world.with_code(registry(new)).await;
    let instance = world.client().instance(CODE, "i");
    assert_eq!(instance.wait().await.unwrap(), ["false", "false"]);
    world.stop().await;
    world.check_all().await;
}

#[tokio::test(start_paused = true)]
async fn extended_code_is_reported_with_what_it_adds() {
    async fn old(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        ctx.sleep(Duration::from_secs(1)).await?;
        ctx.external_event::<()>("never").await?;
        Ok(Log::new())
    }
    async fn new(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        ctx.sleep(Duration::from_secs(1)).await?;
        ctx.set_state("more", &1)?;
        ctx.external_event::<()>("never").await?;
        Ok(Log::new())
    }
    let mut world = World::new(registry(old)).await;
    let history = recorded(&mut world).await;
    let replayed = Replayer::new(registry(new)).replay(&history).unwrap();
    assert_eq!(replayed.consumed, 4);
    assert!(!replayed.is_exact());
    let [added] = &replayed.appended[..] else {
        panic!("{:?}", replayed.appended);
    };
    assert!(matches!(&added.event, Event::StateSet { key, .. } if key.as_str() == "more"));
    // Shortened code is a violation, at the exact event.
    let failure = Replayer::new(registry(async |_, _| Ok(Log::new()))).replay(&history);
    let ReplayFailure::Violation(violation) = failure.unwrap_err() else {
        panic!("no violation");
    };
    assert_eq!(violation.event_id.get(), 2);
}
