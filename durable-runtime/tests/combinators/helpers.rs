//! The crate's own helpers and macros.

use durable_runtime::{
    Failure, OrchestrationContext, join, join_all, select, select_all, try_join,
};

use crate::dice::Dice;
use crate::scenario::{CHILD, Log, Outside, Scenario, WORK, distinct, pause, risky, word, work};

/// Two activities with a timer between them.
async fn two(ctx: OrchestrationContext, tag: &'static str, seed: u64) -> Result<String, Failure> {
    let mut dice = Dice::of(seed, tag);
    let call = ctx.activity(WORK, &work(format!("{tag}1"), &mut dice));
    let first = call.await?;
    ctx.sleep(pause(&mut dice)).await?;
    let call = ctx.activity(WORK, &risky(format!("{tag}2"), &mut dice));
    Ok(first + &call.await?)
}

#[tokio::test(start_paused = true)]
async fn the_macros_of_this_crate() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let child = work("child", &mut dice);
        let (a, b, c) = join!(
            two(ctx.clone(), "a", seed),
            two(ctx.clone(), "b", seed),
            ctx.sub_orchestration(CHILD, &child),
        );
        let mut log = vec![word(a), word(b), c?];
        let tried = try_join!(two(ctx.clone(), "c", seed), two(ctx.clone(), "d", seed));
        log.push(word(tried.map(|(c, d)| c + &d)));
        let mut timer = Box::pin(ctx.sleep(pause(&mut dice)));
        let mut events = 0;
        loop {
            select! {
                event = ctx.external_event::<u64>("tick") => {
                    events += event?;
                    log.push(ctx.activity(WORK, &work(events, &mut dice)).await?);
                }
                done = two(ctx.clone(), "e", seed), if events == 0 => {
                    log.push(word(done));
                    break;
                }
                timer = &mut timer => {
                    timer?;
                    break;
                }
            }
        }
        Ok(log)
    }
    let ticks = |seed| {
        vec![
            (seed % 50, Outside::Raise("tick", 1)),
            (120, Outside::Raise("tick", 2)),
        ]
    };
    let logs = Scenario::new(code).outside(ticks).run().await;
    assert!(distinct(&logs) > 10, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn the_functions_of_this_crate() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let calls = (0..12).map(|n| ctx.activity(WORK, &work(n, &mut dice)));
        let numbers = join_all(calls)
            .await
            .into_iter()
            .collect::<Result<Log, _>>()?;
        assert_eq!(numbers, (0..12).map(|n| n.to_string()).collect::<Log>());
        let twos = ["a", "b", "c"].map(|tag| two(ctx.clone(), tag, seed));
        let mut log: Log = join_all(twos).await.into_iter().map(word).collect();
        let twos = ["d", "e", "f"].map(|tag| two(ctx.clone(), tag, seed));
        let (place, first) = select_all(twos).await;
        log.push(format!("{place} {}", word(first)));
        assert_eq!(join_all(Vec::<durable_runtime::Sleep>::new()).await, []);
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 10, "{}", distinct(&logs));
}

#[tokio::test]
async fn of_several_that_are_ready_the_first_is_taken_and_none_is_polled_again() {
    let numbers = (0..5).map(std::future::ready);
    assert_eq!(join_all(numbers.clone()).await, [0, 1, 2, 3, 4]);
    assert_eq!(select_all(numbers).await, (0, 0));
    // One that yields does not keep the others waiting, nor the task from its turn.
    let yielding = (0..3).map(|n| async move {
        for _ in 0..n {
            tokio::task::yield_now().await;
        }
        n
    });
    assert_eq!(join_all(yielding.clone()).await, [0, 1, 2]);
    assert_eq!(select_all(yielding.skip(1)).await, (0, 1));
}

/// Whatever `tokio::select!` takes, this crate's takes too.
#[tokio::test]
async fn select_is_written_as_tokio_writes_it() {
    let (mut log, mut spent) = (Vec::new(), Box::pin(std::future::ready(3)));
    for round in 0..4 {
        select! {
            value = &mut spent, if round == 3 => log.push(value),
            Some(value) = async { (round == 0).then_some(0) } => { log.push(value) }
            (one, _) = std::future::ready((round, ())), if round == 1 => { log.push(one) },
            () = std::future::pending(), if round > 3 => unreachable!(),
            else => log.push(2),
        }
    }
    // A temporary lives as long as the branches do.
    let borrowed = select! { value = std::pin::pin!(std::future::ready(4)) => value };
    let nothing = select! { else => 5 };
    log.extend([borrowed, nothing]);
    assert_eq!(log, [0, 1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn joins_of_none_of_one_and_of_many() {
    assert_eq!(join!(), ());
    assert_eq!(join!(async { 1 }), (1,));
    let tried: Result<_, ()> = try_join!(async { Ok(1) }, async { Ok("two") },);
    assert_eq!(tried, Ok((1, "two")));
    let one = std::future::ready;
    #[rustfmt::skip]
    let (.., last) = join!(
        one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7), one(8), one(9),
        one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7), one(8), one(9),
        one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7), one(8), one(39),
    );
    assert_eq!(last, 39);
}
