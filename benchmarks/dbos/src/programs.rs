//! The programs of the benchmark as DBOS workflows.

use std::time::Duration;

use bench_harness::{Program, TIMER, add, child};
use dbos::{DBOS, Error, Result, WorkflowRef, recv, sleep, step};
use futures::future::try_join_all;

/// Longer than any run is given.
const FOREVER: Duration = Duration::from_secs(3_600);

type Workflow = WorkflowRef<u64, u64>;

/// The workflows, by program.
pub(crate) struct Programs {
    chain: Workflow,
    fan_out: Workflow,
    one: Workflow,
    gated: Workflow,
    mixed: Workflow,
}

impl Programs {
    pub(crate) fn register(dbos: &DBOS) -> Result<Self> {
        let child = dbos.register_workflow("child", |number| async move { Ok(child(number)) })?;
        Ok(Self {
            chain: dbos.register_workflow(Program::Chain.name(), chain)?,
            fan_out: dbos.register_workflow(Program::FanOut.name(), fan_out)?,
            one: dbos.register_workflow(Program::One.name(), added)?,
            gated: dbos.register_workflow(Program::Gated.name(), gated)?,
            mixed: dbos.register_workflow(Program::Mixed.name(), move |number| {
                mixed(child.clone(), number)
            })?,
        })
    }

    pub(crate) fn workflow(&self, program: Program) -> &Workflow {
        match program {
            Program::Chain => &self.chain,
            Program::FanOut => &self.fan_out,
            Program::One => &self.one,
            Program::Gated => &self.gated,
            Program::Mixed => &self.mixed,
        }
    }
}

async fn added(number: u64) -> Result<u64> {
    step("add", || async move { Ok(add(number)) }).await
}

async fn event() -> Result<u64> {
    let message = recv(None, FOREVER).await?;
    message.ok_or_else(|| Error::Config("no event came".to_owned()))
}

async fn chain(steps: u64) -> Result<u64> {
    let mut number = 0;
    for _ in 0..steps {
        number = added(number).await?;
    }
    Ok(number)
}

async fn fan_out(width: u64) -> Result<u64> {
    // A step takes its place where it is built, so a join over steps is sound.
    let steps = (0..width).map(|_| step("add", || async { Result::Ok(add(0)) }));
    Ok(try_join_all(steps).await?.into_iter().sum())
}

async fn gated(number: u64) -> Result<u64> {
    let number = added(number).await?;
    let number = added(number).await?;
    let number = number + event().await?;
    let number = added(number).await?;
    added(number).await
}

async fn mixed(child: Workflow, number: u64) -> Result<u64> {
    let number = added(number).await?;
    let number = number + event().await?;
    let number = added(number).await?;
    sleep(TIMER).await?;
    let number = child.run(number).await?;
    added(number).await
}
