//! The programs of the benchmark as Restate's services and workflows.

use bench_harness::{TIMER, add, child};
use restate_sdk::prelude::{
    Context, ContextClient, ContextPromises, ContextSideEffects, ContextTimers,
    DurableFuturesUnordered, HandlerResult, RunFuture, SharedWorkflowContext, WorkflowContext,
};
use restate_sdk::{service, workflow};

const GO: &str = "go";

pub(crate) struct Plain;

#[service]
impl Plain {
    #[handler]
    async fn chain(&self, ctx: Context<'_>, steps: u64) -> HandlerResult<u64> {
        let mut number = 0;
        for _ in 0..steps {
            number = ctx
                .run(|| async move { Ok(add(number)) })
                .name("add")
                .await?;
        }
        Ok(number)
    }

    #[handler]
    async fn fan_out(&self, ctx: Context<'_>, width: u64) -> HandlerResult<u64> {
        // Side effects run one at a time in this SDK: what shall run at once is called.
        let calls = (0..width).map(|_| ctx.service_client::<ActivitiesClient>().add(0).call());
        let mut calls: DurableFuturesUnordered<_> = calls.collect();
        let mut sum = 0;
        while let Some((_, result)) = calls.next().await? {
            sum += result?;
        }
        Ok(sum)
    }

    #[handler]
    async fn one(&self, ctx: Context<'_>, number: u64) -> HandlerResult<u64> {
        Ok(ctx
            .run(|| async move { Ok(add(number)) })
            .name("add")
            .await?)
    }
}

pub(crate) struct Activities;

#[service]
impl Activities {
    #[handler]
    async fn add(&self, _: Context<'_>, number: u64) -> HandlerResult<u64> {
        Ok(add(number))
    }
}

pub(crate) struct Child;

#[service]
impl Child {
    #[handler]
    async fn run(&self, _: Context<'_>, number: u64) -> HandlerResult<u64> {
        Ok(child(number))
    }
}

pub(crate) struct Gated;

#[workflow]
impl Gated {
    #[handler]
    async fn run(&self, ctx: WorkflowContext<'_>, number: u64) -> HandlerResult<u64> {
        let number: u64 = ctx
            .run(|| async move { Ok(add(number)) })
            .name("add")
            .await?;
        let number: u64 = ctx
            .run(|| async move { Ok(add(number)) })
            .name("add")
            .await?;
        let number = number + ctx.promise::<u64>(GO).await?;
        let number: u64 = ctx
            .run(|| async move { Ok(add(number)) })
            .name("add")
            .await?;
        Ok(ctx
            .run(|| async move { Ok(add(number)) })
            .name("add")
            .await?)
    }

    #[handler]
    async fn go(&self, ctx: SharedWorkflowContext<'_>, number: u64) -> HandlerResult<()> {
        ctx.resolve_promise(GO, number);
        Ok(())
    }
}

pub(crate) struct Mixed;

#[workflow]
impl Mixed {
    #[handler]
    async fn run(&self, ctx: WorkflowContext<'_>, number: u64) -> HandlerResult<u64> {
        let number: u64 = ctx
            .run(|| async move { Ok(add(number)) })
            .name("add")
            .await?;
        let number = number + ctx.promise::<u64>(GO).await?;
        let number: u64 = ctx
            .run(|| async move { Ok(add(number)) })
            .name("add")
            .await?;
        ctx.sleep(TIMER).await?;
        let number: u64 = ctx
            .service_client::<ChildClient>()
            .run(number)
            .call()
            .await?;
        Ok(ctx
            .run(|| async move { Ok(add(number)) })
            .name("add")
            .await?)
    }

    #[handler]
    async fn go(&self, ctx: SharedWorkflowContext<'_>, number: u64) -> HandlerResult<()> {
        ctx.resolve_promise(GO, number);
        Ok(())
    }
}
