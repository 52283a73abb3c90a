//! Futures that are given up, put aside and taken up again.

use std::pin::Pin;
use std::task::Poll;

use durable_runtime::{Failure, OrchestrationContext};
use futures::FutureExt;
use futures::future::{BoxFuture, abortable};

use crate::dice::Dice;
use crate::scenario::{CHILD, Log, Outside, Scenario, WORK, distinct, pause, risky, word, work};

type Branch<'a> = BoxFuture<'a, String>;

async fn two(ctx: &OrchestrationContext, tag: String, seed: u64) -> String {
    let mut dice = Dice::of(seed, &tag);
    let first = ctx
        .activity(WORK, &risky(format!("{tag}1"), &mut dice))
        .await;
    let slept = ctx.sleep(pause(&mut dice)).await;
    let second = ctx
        .activity(WORK, &work(format!("{tag}2"), &mut dice))
        .await;
    format!("{}/{}/{}", word(first), slept.is_ok(), word(second))
}

/// Some work of one sort or another.
fn branch(ctx: &OrchestrationContext, n: u64, seed: u64) -> Branch<'_> {
    let mut dice = Dice::of(seed, &format!("branch{n}"));
    match n % 4 {
        0 => two(ctx, format!("two{n}"), seed).boxed(),
        1 => {
            let child = work(format!("child{n}"), &mut dice);
            ctx.sub_orchestration(CHILD, &child).map(word).boxed()
        }
        2 => {
            let event = ctx.external_event::<u64>("news");
            event.map(word).boxed()
        }
        _ => ctx
            .sleep(pause(&mut dice))
            .map(move |_| format!("timer{n}"))
            .boxed(),
    }
}

fn news(seed: u64) -> Vec<(u64, Outside)> {
    let mut dice = Dice::of(seed, "news");
    let times = 3 + dice.below(3);
    (0..times)
        .map(|n| (dice.below(30), Outside::Raise("news", n)))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn branches_are_dropped_in_the_middle() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let mut log = Log::new();
        let mut open: Vec<Branch<'_>> = (0..6).map(|n| branch(&ctx, n, seed)).collect();
        for round in 0..4 {
            if open.is_empty() {
                break;
            }
            let (done, _, rest) = futures::future::select_all(open).await;
            log.push(done);
            open = rest;
            let gone = usize::try_from(dice.below(3)).unwrap();
            open.drain(..gone.min(open.len()));
            if round % 2 == 0 {
                log.push(
                    ctx.activity(WORK, &work(format!("round{round}"), &mut dice))
                        .await?,
                );
            }
        }
        drop(open);
        // What was given back can still be read.
        let last = tokio::select! {
            biased;
            event = ctx.external_event::<u64>("news") => word(event),
            done = ctx.sleep(std::time::Duration::from_millis(50)) => word(done.map(|()| "none")),
        };
        log.push(last);
        Ok(log)
    }
    let logs = Scenario::new(code).outside(news).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn branches_are_aborted_by_other_branches() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let (a, stop_a) = abortable(two(&ctx, "a".into(), seed));
        let (b, stop_b) = abortable(two(&ctx, "b".into(), seed));
        let (c, stop_c) = abortable(branch(&ctx, 1, seed));
        let judge = async {
            ctx.sleep(pause(&mut dice)).await?;
            stop_a.abort();
            let verdict = ctx.activity(WORK, &risky("verdict", &mut dice)).await;
            match verdict {
                Ok(_) => stop_b.abort(),
                Err(_) => stop_c.abort(),
            }
            Ok::<_, Failure>(word(verdict))
        };
        let (a, b, c, verdict) = tokio::join!(a, b, c, judge);
        let shown = |done: Result<String, futures::future::Aborted>| {
            done.unwrap_or_else(|_| "aborted".into())
        };
        Ok(vec![shown(a), shown(b), shown(c), verdict?])
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 10, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn branches_are_polled_once_put_aside_and_polled_again_later() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let mut log = Log::new();
        let mut parked: Vec<(u64, Branch<'_>)> = Vec::new();
        for n in 0..5 {
            let mut future = branch(&ctx, n, seed);
            match futures::poll!(&mut future) {
                Poll::Ready(done) => log.push(done),
                Poll::Pending => parked.push((n, future)),
            }
        }
        // Their values arrive while no code polls them.
        for round in 0..2 {
            log.push(
                ctx.activity(WORK, &work(format!("meanwhile{round}"), &mut dice))
                    .await?,
            );
            for (n, future) in &mut parked {
                if dice.below(3) == 0 {
                    log.push(format!("looked at {n}"));
                    let seen = futures::poll!(Pin::new(future));
                    assert!(seen.is_pending(), "at most one is granted");
                }
            }
        }
        while !parked.is_empty() {
            let index = usize::try_from(dice.below(parked.len() as u64)).unwrap();
            let (_, future) = parked.swap_remove(index);
            log.push(future.await);
        }
        Ok(log)
    }
    let outside = |_| {
        (0..3)
            .map(|n| (20 * n, Outside::Raise("news", n)))
            .collect()
    };
    let logs = Scenario::new(code).outside(outside).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn what_is_polled_and_dropped_at_once_leaves_no_trace() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let before = ctx.history_len();
        for n in 0..4 {
            let mut future = branch(&ctx, n, seed);
            assert!(futures::poll!(&mut future).is_pending());
            assert!(futures::poll!(&mut future).is_pending());
        }
        let done = ctx.activity(WORK, &work("done", &mut dice)).await?;
        assert_eq!(ctx.history_len(), before + 2);
        Ok(vec![done])
    }
    Scenario::new(code).run().await;
}
