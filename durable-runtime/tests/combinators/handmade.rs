//! Combinators that no library has: some count polls, some take turns, some roll
//! real dice.

use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::{BuildHasher, Hasher};
use std::pin::Pin;
use std::task::{Context, Poll};

use durable_runtime::{Failure, OrchestrationContext};
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};

use crate::dice::Dice;
use crate::scenario::{CHILD, Log, Scenario, WORK, distinct, pause, risky, word, work};

type Child<'a> = BoxFuture<'a, String>;

async fn two(ctx: &OrchestrationContext, tag: &str, seed: u64) -> String {
    let mut dice = Dice::of(seed, tag);
    let first = ctx
        .activity(WORK, &risky(format!("{tag}1"), &mut dice))
        .await;
    let slept = ctx.sleep(pause(&mut dice)).await;
    let second = ctx
        .activity(WORK, &work(format!("{tag}2"), &mut dice))
        .await;
    format!("{}/{}/{}", word(first), slept.is_ok(), word(second))
}

fn children(ctx: &OrchestrationContext, seed: u64) -> Vec<Child<'_>> {
    let mut dice = Dice::new(seed);
    vec![
        two(ctx, "a", seed).boxed(),
        two(ctx, "b", seed).boxed(),
        ctx.sub_orchestration(CHILD, &work("c", &mut dice))
            .map(word)
            .boxed(),
        ctx.sleep(pause(&mut dice)).map(|_| "timer".into()).boxed(),
        ctx.activity(WORK, &risky("d", &mut dice)).map(word).boxed(),
    ]
}

/// Gives what each child came to, with the number of polls until then: what one
/// would do who counts on being polled only when there is a reason.
struct CountPolls<'a> {
    polls: u32,
    open: Vec<Child<'a>>,
    log: Log,
}

impl Future for CountPolls<'_> {
    type Output = Log;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Log> {
        let this = &mut *self;
        this.polls += 1;
        let (polls, log) = (this.polls, &mut this.log);
        this.open.retain_mut(|child| match child.poll_unpin(cx) {
            Poll::Ready(done) => {
                log.push(format!("{polls}:{done}"));
                false
            }
            Poll::Pending => true,
        });
        // It loses patience, by its own measure.
        if this.open.is_empty() || polls > 20 {
            return Poll::Ready(std::mem::take(log));
        }
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_counts_its_polls() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let open = children(&ctx, seed);
        let (polls, log) = (0, Log::new());
        let mut log = CountPolls { polls, open, log }.await;
        log.push(
            ctx.activity(WORK, &work("after", &mut Dice::new(seed)))
                .await?,
        );
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

/// Polls one child per poll, in turns, and asks to be polled again until each had
/// its turn: most grants find another child polled.
struct TakeTurns<'a> {
    next: usize,
    left: usize,
    open: Vec<Child<'a>>,
    log: Log,
}

impl Future for TakeTurns<'_> {
    type Output = Log;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Log> {
        let this = &mut *self;
        if this.open.is_empty() {
            return Poll::Ready(std::mem::take(&mut this.log));
        }
        if this.left == 0 {
            this.left = this.open.len();
        }
        this.left -= 1;
        this.next = (this.next + 1) % this.open.len();
        if let Poll::Ready(done) = this.open[this.next].poll_unpin(cx) {
            this.log.push(done);
            drop(this.open.swap_remove(this.next));
            this.left = this.open.len() + 1;
        }
        if this.left > 0 {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_polls_its_children_in_turns() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let open = children(&ctx, seed);
        let mut log = TakeTurns {
            next: 0,
            left: open.len(),
            open,
            log: Log::new(),
        }
        .await;
        log.push(
            ctx.activity(WORK, &work("after", &mut Dice::new(seed)))
                .await?,
        );
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

/// Polls its children in a random order, and drops one at the end.
struct AnyOrder<'a> {
    open: Vec<(usize, Child<'a>)>,
    log: Log,
}

impl Future for AnyOrder<'_> {
    type Output = Log;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Log> {
        let this = &mut *self;
        let real_dice = RandomState::new();
        this.open.sort_by_key(|(index, _)| {
            let mut hasher = real_dice.build_hasher();
            hasher.write_usize(*index);
            hasher.finish()
        });
        let log = &mut this.log;
        this.open
            .retain_mut(|(_, child)| match child.poll_unpin(cx) {
                Poll::Ready(done) => {
                    log.push(done);
                    false
                }
                Poll::Pending => true,
            });
        if this.open.len() > 1 {
            return Poll::Pending;
        }
        Poll::Ready(std::mem::take(log))
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_polls_its_children_in_a_truly_random_order() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let open = children(&ctx, seed).into_iter().enumerate().collect();
        let mut log = AnyOrder {
            open,
            log: Log::new(),
        }
        .await;
        log.push(
            ctx.activity(WORK, &work("after", &mut Dice::new(seed)))
                .await?,
        );
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

/// When it is woken, it turns over a few times before it looks at its child.
struct Restless<'a> {
    child: Child<'a>,
    naps: u32,
}

impl Future for Restless<'_> {
    type Output = String;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<String> {
        if self.naps > 0 {
            self.naps -= 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.naps = 7;
        self.child.poll_unpin(cx)
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_sleeps_through_most_of_its_wake_ups() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let restless = children(&ctx, seed)
            .into_iter()
            .enumerate()
            .map(|(index, child)| Restless {
                child,
                naps: u32::try_from(index).unwrap(),
            });
        let restless: FuturesUnordered<_> = restless.collect();
        Ok(restless.collect().await)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}
