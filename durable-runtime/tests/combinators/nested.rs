//! Combinators in combinators, timeouts, and cancellation from outside.

use std::time::Duration;

use durable_runtime::{Failure, OrchestrationContext};
use futures::FutureExt;
use futures::future::join_all;
use tokio::sync::{Notify, Semaphore, mpsc};

use crate::dice::Dice;
use crate::scenario::{CHILD, Log, Outside, Scenario, WORK, distinct, pause, risky, word, work};

async fn one(ctx: &OrchestrationContext, tag: &str, seed: u64) -> Result<String, Failure> {
    let mut dice = Dice::of(seed, tag);
    ctx.sleep(pause(&mut dice)).await?;
    ctx.activity(WORK, &work(tag, &mut dice)).await
}

/// A durable timeout, as anybody would write it.
async fn timeout<T>(
    ctx: &OrchestrationContext,
    limit: Duration,
    code: impl Future<Output = Result<T, Failure>>,
) -> Result<Option<T>, Failure> {
    tokio::select! {
        done = code => Ok(Some(done?)),
        late = ctx.sleep(limit) => late.map(|()| None),
    }
}

#[tokio::test(start_paused = true)]
async fn a_join_in_a_select_in_a_join() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let inner = async |tag: &'static str| {
            let (a, b) = (format!("{tag}a"), format!("{tag}b"));
            tokio::select! {
                both = async { tokio::try_join!(one(&ctx, &a, seed), one(&ctx, &b, seed)) } => {
                    both.map(|(a, b)| a + &b)
                }
                all = join_all(["x", "y"].map(|end| one_owned(&ctx, format!("{tag}{end}"), seed))) => {
                    all.into_iter().collect::<Result<Vec<_>, _>>().map(|all| all.concat())
                }
                alone = one(&ctx, tag, seed) => alone,
            }
        };
        let (first, second, third) = tokio::try_join!(inner("p"), inner("q"), inner("r"))?;
        let after = one(&ctx, "after", seed).await?;
        Ok(vec![first, second, third, after])
    }
    async fn one_owned(
        ctx: &OrchestrationContext,
        tag: String,
        seed: u64,
    ) -> Result<String, Failure> {
        one(ctx, &tag, seed).await
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 10, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn timeouts_within_a_deadline() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let deadline = Duration::from_millis(40);
        let limits: Vec<Duration> = (0..6).map(|_| pause(&mut dice)).collect();
        let attempts = async {
            let mut log = Log::new();
            for (n, limit) in limits.iter().enumerate() {
                let call = ctx.activity(WORK, &risky(format!("try{n}"), &mut dice));
                let done = match timeout(&ctx, *limit, call).await {
                    Ok(Some(done)) => done,
                    Ok(None) => format!("late{n}"),
                    Err(failure) => word(Err::<String, _>(failure)),
                };
                log.push(done);
            }
            Ok(log)
        };
        let log = timeout(&ctx, deadline, attempts).await?;
        Ok(log.unwrap_or_else(|| vec!["too late".into()]))
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn one_result_sets_off_two_branches_of_an_unbiased_select() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let go = Notify::new();
        let follower = async |tag: &'static str| {
            for round in 0..2 {
                go.notified().await;
                ctx.set_state(tag, &round)?;
                one(&ctx, &format!("{tag}{round}"), seed).await?;
            }
            Ok::<_, Failure>(tag.to_string())
        };
        let leader = async {
            let mut dice = Dice::of(seed, "leader");
            for round in 0..4 {
                ctx.activity(WORK, &work(format!("leader{round}"), &mut dice))
                    .await?;
                go.notify_waiters();
                ctx.sleep(pause(&mut dice)).await?;
            }
            Ok::<_, Failure>("leader".to_string())
        };
        let winner = tokio::select! {
            done = follower("a") => done?,
            done = leader => done?,
            done = follower("b") => done?,
            done = follower("c") => done?,
        };
        Ok(vec![winner])
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 1, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn cancellation_resolves_what_is_open_and_lets_the_code_clean_up() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let mut log = Log::new();
        let child = work("child", &mut dice);
        let call = risky("call", &mut dice);
        let fan = async {
            let (a, b, c, d) = tokio::join!(
                ctx.activity(WORK, &call),
                ctx.sub_orchestration(CHILD, &child),
                ctx.sleep(pause(&mut dice)),
                ctx.external_event::<u64>("news"),
            );
            vec![word(a), word(b), word(c.map(|()| "slept")), word(d)]
        };
        log.extend(fan.await);
        log.push(format!("{:?}", ctx.cancel_reason()));
        let second = tokio::select! {
            done = one(&ctx, "second", seed) => word(done),
            event = ctx.external_event::<u64>("news") => word(event),
        };
        log.push(second);
        // Clean-up works after the cancellation.
        let clean = ctx.activity(WORK, &work("clean", &mut dice)).await;
        log.push(word(clean));
        log.push(ctx.is_cancelled().to_string());
        Ok(log)
    }
    let logs = Scenario::new(code)
        .outside(|seed| {
            let mut dice = Dice::of(seed, "outside");
            vec![
                (dice.below(20), Outside::Raise("news", 1)),
                (dice.below(30), Outside::Cancel),
                (dice.below(40), Outside::Raise("news", 2)),
                (dice.below(40), Outside::Cancel),
                (500, Outside::Raise("news", 3)),
            ]
        })
        .run()
        .await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn a_step_with_thousands_of_wake_ups_is_one_step() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let mut dice = Dice::new(seed);
        let (there, mut at_other_end) = mpsc::channel::<u64>(1);
        let (back, mut answers) = mpsc::channel::<u64>(1);
        let echo = async {
            while let Some(value) = at_other_end.recv().await {
                back.send(value + 1).await.unwrap();
            }
            drop(back);
        };
        let first = work("first", &mut dice);
        let ask = async {
            ctx.activity(WORK, &first).await?;
            let mut sum = 0;
            // tokio's budget would end this after 128.
            for n in 0..135 {
                there.send(n).await.unwrap();
                sum += answers.recv().await.unwrap();
            }
            drop(there);
            Ok::<_, Failure>(sum)
        };
        let ((), sum) = tokio::join!(echo, ask);
        let slots = Semaphore::new(1);
        for _ in 0..135 {
            slots.acquire().await.unwrap().forget();
            slots.add_permits(1);
        }
        let tick = ctx.sleep(pause(&mut dice)).fuse();
        tokio::pin!(tick);
        let mut spins = 0;
        let (sender, mut receiver) = mpsc::unbounded_channel();
        for n in 0..135 {
            sender.send(n).unwrap();
        }
        loop {
            tokio::select! {
                biased;
                Some(_) = receiver.recv() => spins += 1,
                done = &mut tick => { done?; break }
            }
        }
        let last = ctx
            .activity(WORK, &work(format!("{spins}"), &mut dice))
            .await?;
        Ok(vec![sum?.to_string(), last])
    }
    let logs = Scenario::new(code).run().await;
    let sum: u64 = (1..=135).sum();
    assert!(
        logs.iter()
            .all(|log| *log == [sum.to_string(), "135".into()])
    );
}
