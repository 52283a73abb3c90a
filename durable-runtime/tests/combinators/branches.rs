//! Branches that begin with equal commands and go on differently: each command finds its
//! branch again.

#[path = "../../examples/cross_build/shapes.rs"]
mod shapes;

use durable_core::provider::InstanceStatus;
use durable_runtime::{
    Failure, Orchestration, OrchestrationContext, PromiseToken, Registry, join, join_all, select,
};

use crate::scenario::Log;
use crate::world::{World, forgetful, options, settled, shown};
use shapes::{Case, First, GO, SHAPE};

/// How often each case runs: some combinators poll in a random order.
const COPIES: usize = 3;

#[test]
fn the_cases_are_many_and_most_replay_in_every_build() {
    assert_eq!(Case::all().count(), 282);
    let portable = Case::all().filter(|case| case.replays_in_every_build());
    assert_eq!(portable.count(), 228);
}

#[tokio::test(start_paused = true)]
async fn equal_commands_find_their_branches_again_in_every_combinator() {
    for options in [options(), forgetful()] {
        let mut world = World::with(shapes::registry().unwrap(), options).await;
        let client = world.client();
        let mut instances = Vec::new();
        for case in Case::all() {
            for copy in 0..COPIES {
                let id = format!("{}-{copy}", case.name());
                let instance = client.start(SHAPE, id, &case).await.unwrap();
                if case.first == First::Event {
                    instance.raise(GO, &1).await.unwrap();
                    instance.raise(GO, &2).await.unwrap();
                }
                instances.push((case, instance));
            }
        }
        for (case, instance) in &instances {
            let record = settled(instance).await;
            let InstanceStatus::Completed { output } = record.status else {
                let history = world.history(instance.id(), 1).await;
                panic!("{:?}\n{}", record.status, shown(&history));
            };
            let done: Log = serde_json::from_str(&output).unwrap();
            if case.first == First::Event && done.len() == 2 {
                // Commands of one poll are recorded by branch, then by place.
                let lefts = done.iter().filter(|done| done.starts_with("left got 1"));
                let rights = done.iter().filter(|done| done.starts_with("right got 2"));
                assert_eq!((lefts.count(), rights.count()), (1, 1), "{}", instance.id());
            }
        }
        world.stop().await;
        assert!(world.check_all().await >= instances.len());
    }
}

const TALK: Orchestration<u64, Log> = Orchestration::new("talk");

/// What has no future is recorded in the order of the calls, and so are promises: with
/// combinators that poll in a fixed order that is the same in every replay.
#[tokio::test(start_paused = true)]
async fn promises_and_one_way_commands_of_equal_branches() {
    async fn branch(ctx: &OrchestrationContext, tag: u64) -> Result<String, Failure> {
        let promise = ctx.promise::<u64>("answer")?;
        ctx.send_event("listener", "asked", promise.token())
            .detach()?;
        ctx.send_event("listener", "hello", &0).detach()?;
        ctx.set_state("last", &tag)?;
        ctx.set_state("same", &0)?;
        let number = promise.token().number;
        ctx.resolve_promise(promise.token().clone(), &tag)?;
        let answer = promise.await?;
        Ok(format!("{tag}: promise {number} has {answer}"))
    }
    async fn talk(ctx: OrchestrationContext, _: u64) -> Result<Log, Failure> {
        let (all, both) = join!(join_all([branch(&ctx, 0), branch(&ctx, 1)]), async {
            select! {
                both = async { join!(branch(&ctx, 2), branch(&ctx, 3)) } => both,
            }
        });
        let mut log: Log = all.into_iter().collect::<Result<_, _>>()?;
        log.extend([both.0?, both.1?]);
        log.push(format!("{:?}", ctx.state::<u64>("last")?));
        Ok(log)
    }
    async fn listen(ctx: OrchestrationContext, count: u64) -> Result<Log, Failure> {
        let mut log = Log::new();
        for _ in 0..count {
            let token: PromiseToken = ctx.external_event("asked").await?;
            log.push(format!("asked for promise {}", token.number));
        }
        Ok(log)
    }
    const LISTEN: Orchestration<u64, Log> = Orchestration::new("listen");
    let registry = Registry::builder()
        .orchestration(TALK, talk)
        .orchestration(LISTEN, listen)
        .build()
        .unwrap();
    for options in [options(), forgetful()] {
        let mut world = World::with(registry.clone(), options).await;
        let client = world.client();
        let listener = client.start(LISTEN, "listener", &4).await.unwrap();
        let talk = client.start(TALK, "talk", &0).await.unwrap();
        let said = talk.wait().await.unwrap();
        assert_eq!(
            said,
            [
                "0: promise 0 has 0",
                "1: promise 1 has 1",
                "2: promise 2 has 2",
                "3: promise 3 has 3",
                "Some(3)",
            ]
        );
        let heard = listener.wait().await.unwrap();
        let numbers = (0..4).map(|number| format!("asked for promise {number}"));
        assert_eq!(heard, numbers.collect::<Log>());
        world.stop().await;
        assert!(world.check_all().await >= 2);
    }
}
