//! Branches of one orchestration that talk to each other.

use std::sync::Arc;

use durable_runtime::{Failure, OrchestrationContext};
use tokio::sync::{Barrier, Mutex, Notify, RwLock, Semaphore, broadcast, mpsc, oneshot, watch};

use crate::dice::Dice;
use crate::scenario::{Log, Outside, Scenario, WORK, distinct, pause, risky, word, work};

#[tokio::test(start_paused = true)]
async fn a_mutex_and_a_read_write_lock_held_across_awaits() {
    async fn careful(
        ctx: &OrchestrationContext,
        tag: &str,
        seed: u64,
        shared: &Mutex<Log>,
        last: &RwLock<String>,
    ) -> Result<(), Failure> {
        let mut dice = Dice::of(seed, tag);
        ctx.sleep(pause(&mut dice)).await?;
        let mut log = shared.lock().await;
        let done = ctx.activity(WORK, &risky(tag, &mut dice)).await;
        log.push(word(done));
        drop(log);
        ctx.sleep(pause(&mut dice)).await?;
        let seen = last.read().await.clone();
        let mut last = last.write().await;
        ctx.activity(WORK, &work(format!("{tag} after {seen}"), &mut dice))
            .await?;
        *last = tag.to_string();
        shared.lock().await.push(format!("{tag} saw {seen}"));
        Ok(())
    }
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let (shared, last) = (Mutex::new(Log::new()), RwLock::new(String::new()));
        let all = ["a", "b", "c", "d"].map(|tag| careful(&ctx, tag, seed, &shared, &last));
        futures::future::try_join_all(all).await?;
        Ok(shared.into_inner())
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn a_semaphore_lets_two_work_at_once() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let slots = Semaphore::new(2);
        let log = std::sync::Mutex::new(Log::new());
        let one = async |tag: &'static str| {
            let mut dice = Dice::of(seed, tag);
            ctx.sleep(pause(&mut dice)).await?;
            let slot = slots.acquire().await.unwrap();
            let done = ctx.activity(WORK, &risky(tag, &mut dice)).await;
            log.lock().unwrap().push(word(done));
            ctx.sleep(pause(&mut dice)).await?;
            drop(slot);
            Ok::<_, Failure>(())
        };
        tokio::try_join!(one("a"), one("b"), one("c"), one("d"), one("e"))?;
        Ok(log.into_inner().unwrap())
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn channels_from_producers_to_a_consumer_that_works_on_what_it_gets() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let (sender, mut receiver) = mpsc::channel::<String>(1);
        let (ready, is_ready) = oneshot::channel();
        let produce = async |tag: &'static str, sender: mpsc::Sender<String>| {
            let mut dice = Dice::of(seed, tag);
            for n in 0..3 {
                let done = ctx
                    .activity(WORK, &risky(format!("{tag}{n}"), &mut dice))
                    .await;
                sender.send(word(done)).await.unwrap();
            }
            Ok::<_, Failure>(())
        };
        let context = &ctx;
        let consume = async move {
            let mut log = Log::new();
            let mut dice = Dice::of(seed, "consumer");
            let mut ready = Some(ready);
            while let Some(value) = receiver.recv().await {
                if let Some(ready) = ready.take() {
                    ready.send(value.clone()).unwrap();
                }
                log.push(context.activity(WORK, &work(value, &mut dice)).await?);
            }
            Ok::<_, Failure>(log)
        };
        let first = async {
            let first = is_ready.await.unwrap();
            let mut dice = Dice::of(seed, "first");
            ctx.activity(WORK, &work(format!("first was {first}"), &mut dice))
                .await
        };
        let (a, b) = (sender.clone(), sender);
        let (_, _, mut log, first) =
            tokio::try_join!(produce("a", a), produce("b", b), consume, first)?;
        log.push(first);
        Ok(log)
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn notifications_barriers_watches_and_broadcasts() {
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let notify = Notify::new();
        let barrier = Barrier::new(3);
        let (watched, watch) = watch::channel(0);
        let (told, _) = broadcast::channel::<String>(16);
        let log = std::sync::Mutex::new(Log::new());
        let one = async |tag: &'static str| {
            let (mut watch, mut hear) = (watch.clone(), told.subscribe());
            let mut dice = Dice::of(seed, tag);
            let done = ctx.activity(WORK, &work(tag, &mut dice)).await?;
            notify.notify_one();
            told.send(done).unwrap();
            barrier.wait().await;
            let heard = hear.recv().await.unwrap();
            watch.wait_for(|round| *round == 1).await.unwrap();
            let done = ctx
                .activity(WORK, &work(format!("{tag} heard {heard}"), &mut dice))
                .await?;
            log.lock().unwrap().push(done);
            Ok::<_, Failure>(())
        };
        let leader = async {
            for _ in 0..3 {
                notify.notified().await;
            }
            let done = ctx
                .activity(WORK, &work("leader", &mut Dice::new(seed)))
                .await?;
            log.lock().unwrap().push(done);
            watched.send(1).unwrap();
            Ok::<_, Failure>(())
        };
        tokio::try_join!(one("a"), one("b"), one("c"), leader)?;
        Ok(log.into_inner().unwrap())
    }
    let logs = Scenario::new(code).run().await;
    assert!(distinct(&logs) > 10, "{}", distinct(&logs));
}

#[tokio::test(start_paused = true)]
async fn an_actor_inside_an_orchestration_serves_requests_and_events() {
    type Reply = oneshot::Sender<String>;
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        let (requests, mut inbox) = mpsc::unbounded_channel::<(String, Reply)>();
        let served = Arc::new(Mutex::new(Log::new()));
        let log = served.clone();
        let actor = async {
            let mut dice = Dice::of(seed, "actor");
            loop {
                tokio::select! {
                    request = inbox.recv() => {
                        let Some((tag, reply)) = request else { break };
                        let done = ctx.activity(WORK, &work(tag, &mut dice)).await?;
                        log.lock().await.push(done.clone());
                        // The caller may have given up.
                        let _ = reply.send(done);
                    }
                    event = ctx.external_event::<u64>("news") => {
                        log.lock().await.push(format!("news {}", event?));
                    }
                }
            }
            Ok::<_, Failure>(())
        };
        let ask = async |tag: &'static str, requests: mpsc::UnboundedSender<_>| {
            let mut dice = Dice::of(seed, tag);
            for n in 0..2 {
                ctx.sleep(pause(&mut dice)).await?;
                let (reply, answer) = oneshot::channel();
                requests.send((format!("{tag}{n}"), reply)).unwrap();
                tokio::select! {
                    biased;
                    answer = answer => assert_eq!(answer.unwrap(), format!("{tag}{n}")),
                    done = ctx.sleep(pause(&mut dice)) => done?,
                }
            }
            Ok::<_, Failure>(())
        };
        let (a, b) = (requests.clone(), requests);
        tokio::try_join!(actor, ask("a", a), ask("b", b))?;
        Ok(served.lock().await.clone())
    }
    let logs = Scenario::new(code)
        .outside(|seed| {
            let mut dice = Dice::of(seed, "outside");
            (0..3)
                .map(|n| (dice.below(40), Outside::Raise("news", n)))
                .collect()
        })
        .run()
        .await;
    assert!(distinct(&logs) > 50, "{}", distinct(&logs));
}
