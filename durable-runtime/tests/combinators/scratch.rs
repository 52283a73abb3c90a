//! Scratch.
use durable_runtime::{Failure, OrchestrationContext};
use crate::dice::Dice;
use crate::scenario::{Log, Scenario, WORK, work};

#[tokio::test(start_paused = true)]
async fn promises_in_unbiased() {
    async fn one(ctx: &OrchestrationContext, tag: &'static str, seed: u64) -> Result<String, Failure> {
        let p = ctx.promise::<u64>(tag)?;
        let w = work(format!("{tag}{}", p.token()), &mut Dice::new(seed));
        ctx.activity(WORK, &w).await
    }
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        Ok(vec![tokio::select! {
            a = one(&ctx, "a", seed) => a?,
            b = one(&ctx, "b", seed) => b?,
        }])
    }
    Scenario::new(code).run().await;
}

#[tokio::test(start_paused = true)]
async fn random_in_unbiased() {
    async fn one(ctx: &OrchestrationContext, tag: &'static str, seed: u64) -> Result<String, Failure> {
        let w = work(format!("{tag}{}", ctx.random()), &mut Dice::new(seed));
        ctx.activity(WORK, &w).await
    }
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        Ok(vec![tokio::select! {
            a = one(&ctx, "a", seed) => a?,
            b = one(&ctx, "b", seed) => b?,
        }])
    }
    Scenario::new(code).run().await;
}

#[tokio::test(start_paused = true)]
async fn boxed_equal_timers_in_unbiased() {
    use futures::FutureExt;
    async fn one(ctx: &OrchestrationContext, tag: &'static str, seed: u64) -> Result<String, Failure> {
        ctx.sleep(std::time::Duration::from_millis(5)).await?;
        ctx.activity(WORK, &work(tag, &mut Dice::new(seed))).await
    }
    async fn code(ctx: OrchestrationContext, seed: u64) -> Result<Log, Failure> {
        Ok(vec![tokio::select! {
            a = one(&ctx, "a", seed).boxed() => a?,
            b = one(&ctx, "b", seed).boxed() => b?,
        }])
    }
    Scenario::new(code).run().await;
}
