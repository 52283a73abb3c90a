//! `select!`, in its default random order, over durable futures and over code.

use std::pin::pin;

use durable_runtime::{Failure, OrchestrationContext};
use futures::FutureExt;
use futures::future::{Either, select, select_all};

use crate::dice::Dice;
use crate::scenario::{CHILD, Log, Scenario, WORK, distinct, pause, risky, word, work};

#[tokio::test(start_paused = true)]
async fn unbiased_select_over_durable_futures() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let mut log = Log::new();
        for round in 0..4 {
            log.push(tokio::select! {
                done = ctx.activity(WORK, &work(format!("a{round}"), &mut dice)) => done?,
                done = ctx.activity(WORK, &risky(format!("b{round}"), &mut dice)) => word(done),
                done = ctx.sub_orchestration(CHILD, &work(format!("c{round}"), &mut dice)) => done?,
                done = ctx.sleep(pause(&mut dice)) => done.map(|()| format!("timer{round}"))?,
            });
        }
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

/// Several things, one after the other, then the tag.
async fn branch(ctx: OrchestrationContext, tag: &str, seed: u64) -> Result<String, Failure> {
    let mut dice = Dice::of(seed, tag);
    ctx.set_state(tag, &dice.below(10))?;
    let first = ctx
        .activity(WORK, &risky(format!("{tag}-first"), &mut dice))
        .await;
    ctx.sleep(pause(&mut dice)).await?;
    let id = ctx.uuid();
    let noted = ctx
        .run(format!("{tag}-note"), async { Ok::<_, Failure>(tag.len()) })
        .await?;
    let second = ctx
        .activity(WORK, &work(format!("{tag}-{id}"), &mut dice))
        .await?;
    let state: Option<u64> = ctx.state(tag)?;
    Ok(format!("{tag}:{}:{noted}:{second}:{state:?}", word(first)))
}

#[tokio::test(start_paused = true)]
async fn unbiased_select_over_async_fns_that_do_several_things() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let winner = tokio::select! {
            done = branch(ctx.clone(), "left", seed) => done?,
            done = branch(ctx.clone(), "middle", seed) => done?,
            done = branch(ctx.clone(), "right", seed) => done?,
        };
        let after = ctx
            .activity(WORK, &work("after", &mut Dice::new(seed)))
            .await?;
        Ok(vec![winner, after])
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn branches_of_an_unbiased_select_that_ask_for_the_same_and_go_on_differently() {
    async fn patient(ctx: &OrchestrationContext, tag: &str, seed: u64) -> Result<String, Failure> {
        let mut dice = Dice::of(seed, tag);
        let limit = std::time::Duration::from_millis(5);
        let log = tokio::select! {
            done = ctx.activity(WORK, &risky(tag, &mut dice)) => word(done),
            late = ctx.sleep(limit) => late.map(|()| format!("{tag} late"))?,
        };
        // The same name and the same input in every branch.
        let same = work("same", &mut Dice::new(seed));
        let noted: String = ctx
            .run("note", async { Ok::<_, Failure>(tag.to_string()) })
            .await?;
        let done = ctx.activity(WORK, &same).await?;
        ctx.sleep(limit).await?;
        ctx.activity(
            WORK,
            &work(format!("{tag} {noted} {done} {log}"), &mut dice),
        )
        .await
    }
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let winner = tokio::select! {
            done = patient(&ctx, "a", seed) => done?,
            done = patient(&ctx, "b", seed) => done?,
            done = async {
                tokio::try_join!(patient(&ctx, "c", seed), patient(&ctx, "d", seed))
            } => done.map(|(c, d)| c + &d)?,
        };
        Ok(vec![winner])
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 4, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn unbiased_select_in_a_loop_over_pinned_futures_with_an_await_in_the_handler() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let mut log = Log::new();
        let mut a = pin!(branch(ctx.clone(), "a", seed));
        let mut b = pin!(branch(ctx.clone(), "b", seed));
        let mut tick = pin!(ctx.sleep(pause(&mut dice)));
        let (mut a_done, mut b_done, mut ticks) = (false, false, 0);
        loop {
            tokio::select! {
                done = &mut a, if !a_done => { a_done = true; log.push(done?); }
                done = &mut b, if !b_done => { b_done = true; log.push(done?); }
                done = &mut tick, if ticks < 3 => {
                    done?;
                    ticks += 1;
                    log.push(format!("tick{ticks}"));
                    tick.set(ctx.sleep(pause(&mut dice)));
                }
                else => break,
            }
            let handled = work(format!("handler{}", log.len()), &mut dice);
            log.push(ctx.activity(WORK, &handled).await?);
        }
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn the_select_of_futures_with_fused_futures() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let mut log = Log::new();
        let mut a = pin!(branch(ctx.clone(), "a", seed).fuse());
        let mut b = ctx.activity(WORK, &risky("b", &mut dice)).fuse();
        let mut c = ctx.sub_orchestration(CHILD, &risky("c", &mut dice)).fuse();
        let mut d = ctx.sleep(pause(&mut dice)).fuse();
        loop {
            log.push(futures::select! {
                done = a => word(done),
                done = b => word(done),
                done = c => word(done),
                done = d => { done?; "timer".into() }
                complete => break,
            });
        }
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn futures_that_move_from_one_select_to_the_next() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let mut log = Log::new();
        let mut survivor = branch(ctx.clone(), "first", seed).boxed();
        for round in 0..4 {
            let next = match round % 2 {
                0 => branch(ctx.clone(), ["p", "q", "r", "s"][round], seed).boxed(),
                _ => ctx
                    .activity(WORK, &risky(format!("next{round}"), &mut dice))
                    .boxed(),
            };
            survivor = match select(survivor, next).await {
                Either::Left((done, next)) => {
                    log.push(word(done));
                    next
                }
                Either::Right((done, survivor)) => {
                    log.push(word(done));
                    survivor
                }
            };
        }
        log.push(word(survivor.await));
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn select_all_until_none_is_left() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let mut log = Log::new();
        let mut open = Vec::new();
        for tag in ["a", "b", "c"] {
            open.push(branch(ctx.clone(), tag, seed).boxed());
            let done = ctx.activity(WORK, &risky(format!("{tag}2"), &mut dice));
            open.push(done.boxed());
        }
        while !open.is_empty() {
            let (done, index, rest) = select_all(open).await;
            log.push(format!("{index}:{}", word(done)));
            open = rest;
            if dice.below(4) == 0 {
                open.pop();
            }
        }
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}
