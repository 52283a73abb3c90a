//! Joins and streams of many durable futures.

use durable_runtime::{Failure, OrchestrationContext};
use futures::future::{join_all, try_join_all};
use futures::stream::{FuturesOrdered, FuturesUnordered};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};

use crate::dice::Dice;
use crate::scenario::{CHILD, Log, Scenario, WORK, distinct, pause, risky, word, work};

/// Two activities with a timer between them.
async fn two(ctx: OrchestrationContext, tag: &'static str, seed: u64) -> Result<String, Failure> {
    let mut dice = Dice::of(seed, tag);
    let first = ctx
        .activity(WORK, &work(format!("{tag}1"), &mut dice))
        .await?;
    ctx.sleep(pause(&mut dice)).await?;
    let second = ctx
        .activity(WORK, &risky(format!("{tag}2"), &mut dice))
        .await?;
    Ok(first + &second)
}

#[tokio::test(start_paused = true)]
async fn join_and_try_join_of_tokio() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let child = work("child", &mut dice);
        let (a, b, c, d) = tokio::join!(
            two(ctx.clone(), "a", seed),
            two(ctx.clone(), "b", seed),
            ctx.sub_orchestration(CHILD, &child),
            ctx.sleep(pause(&mut dice)),
        );
        d?;
        let mut log = vec![word(a), word(b), c?];
        let tried = tokio::try_join!(two(ctx.clone(), "c", seed), two(ctx.clone(), "d", seed));
        log.push(word(tried.map(|(c, d)| c + &d)));
        log.push(ctx.activity(WORK, &work("after", &mut dice)).await?);
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 10, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn join_all_of_few_and_of_many() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let few = join_all((0..4).map(|n| ctx.activity(WORK, &risky(n, &mut dice)))).await;
        let mut log: Log = few.into_iter().map(word).collect();
        // Above thirty, `join_all` is another machine.
        let many = (0..31).map(|n| ctx.activity(WORK, &work(n, &mut dice)));
        log.extend(try_join_all(many).await?);
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    // The results keep their order, so only success and failure of the few tell runs apart.
    assert_eq!(distinct(&logs), 16);
}

#[tokio::test(start_paused = true)]
async fn buffered_streams() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let all = ["a", "b", "c"].map(|tag| two(ctx.clone(), tag, seed).map(word));
        let mut log: Log = stream::iter(all).buffer_unordered(2).collect().await;
        let all = ["g", "h"].map(|tag| two(ctx.clone(), tag, seed));
        let tried: Result<Vec<String>, Failure> = stream::iter(all).buffered(2).try_collect().await;
        log.push(word(tried.map(|all| all.concat())));
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn unordered_futures_that_grow_while_they_are_read() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let mut log = Log::new();
        let mut open = FuturesUnordered::new();
        for tag in ["a", "b", "c"] {
            open.push(two(ctx.clone(), tag, seed).boxed());
        }
        let mut more = ["d"].into_iter();
        while let Some(done) = open.next().await {
            log.push(word(done));
            if let Some(tag) = more.next() {
                open.push(two(ctx.clone(), tag, seed).boxed());
            }
            if dice.below(2) == 0 {
                // The others finish while no code reads them.
                let handled = work(format!("handler{}", log.len()), &mut dice);
                log.push(ctx.activity(WORK, &handled).await?);
            }
        }
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn ordered_futures_and_unordered_ones_in_turns() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut log = Log::new();
        let mut ordered: FuturesOrdered<_> = ["a", "b", "c"]
            .map(|tag| two(ctx.clone(), tag, seed))
            .into_iter()
            .collect();
        let mut unordered: FuturesUnordered<_> = ["d", "e", "f"]
            .map(|tag| two(ctx.clone(), tag, seed))
            .into_iter()
            .collect();
        let mut timer = ctx.sleep(pause(&mut Dice::new(seed))).fuse();
        loop {
            log.push(futures::select! {
                done = ordered.select_next_some() => word(done),
                done = unordered.select_next_some() => word(done),
                done = timer => { done?; unordered.clear(); "cleared".into() }
                complete => break,
            });
        }
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 20, "{}", distinct(&logs));
}
