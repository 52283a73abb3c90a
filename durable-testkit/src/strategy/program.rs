//! Random orchestrations that really run: a program is data, and one orchestration
//! carries any program out. Run it on a node, take its history, replay it.
//!
//! Programs end by themselves: whatever they wait for is an activity, a timer or a
//! child of their own.

use std::time::Duration;

use durable_core::Failure;
use durable_runtime::{
    Activity, ActivityContext, Orchestration, OrchestrationContext, Registry, RegistryError,
};
use futures::future::{BoxFuture, join_all, select_all};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof};
use serde::{Deserialize, Serialize};

/// Carries out a [`Program`] and returns what it saw, in its order.
///
/// See the example of [`Program`].
pub const PROGRAM: Orchestration<Program, Vec<String>> = Orchestration::new("program");

/// Takes its time, then returns what it was called with.
const WORK: Activity<(u64, u64), u64> = Activity::new("work");

/// What an orchestration does.
///
/// ```
/// use durable_testkit::TestEnvironment;
/// use durable_testkit::strategy::{PROGRAM, Program, ProgramStep, program_registry};
///
/// let program = Program {
///     steps: vec![ProgramStep::All(vec![ProgramStep::Work(5), ProgramStep::Sleep(3)]), ProgramStep::Record],
/// };
/// TestEnvironment::builder(program_registry()?).run(async |env| {
///     let run = env.start(PROGRAM, "program-1", &program).await.unwrap();
///     assert!(!env.wait(&run).await.unwrap().is_empty());
/// });
/// # Ok::<(), durable_runtime::RegistryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// One after the other.
    pub steps: Vec<ProgramStep>,
}

/// One thing that an orchestration does.
///
/// See the example of [`Program`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ProgramStep {
    /// Calls an activity that takes so many milliseconds.
    Work(u64),
    /// Sleeps so many milliseconds.
    Sleep(u64),
    /// Records a side effect.
    Record,
    /// Sets a state key.
    Remember(u64),
    /// Asks whether it is patched.
    Patched,
    /// One after the other.
    Then(Vec<ProgramStep>),
    /// All at once, until all are done.
    All(Vec<ProgramStep>),
    /// All at once, until one is done; the others are dropped.
    First(Vec<ProgramStep>),
    /// In a child of its own.
    Child(Vec<ProgramStep>),
}

/// What runs programs: [`PROGRAM`] and what it calls.
///
/// See the example of [`Program`].
///
/// # Errors
///
/// The code could not be registered: a defect of this crate.
pub fn program_registry() -> Result<Registry, RegistryError> {
    Registry::builder()
        .orchestration(PROGRAM, program)
        .activity(WORK, work)
        .build()
}

/// Any program.
///
/// ```
/// use durable_testkit::strategy::any_program;
/// use proptest::strategy::{Strategy, ValueTree};
/// use proptest::test_runner::TestRunner;
///
/// let mut runner = TestRunner::deterministic();
/// let program = any_program().new_tree(&mut runner).unwrap().current();
/// assert!(!program.steps.is_empty());
/// ```
pub fn any_program() -> impl Strategy<Value = Program> {
    vec(any_step(), 1..6).prop_map(|steps| Program { steps })
}

fn any_step() -> impl Strategy<Value = ProgramStep> {
    let leaf = prop_oneof![
        4 => (0_u64..30).prop_map(ProgramStep::Work),
        2 => (0_u64..30).prop_map(ProgramStep::Sleep),
        1 => Just(ProgramStep::Record),
        1 => (0_u64..4).prop_map(ProgramStep::Remember),
        1 => Just(ProgramStep::Patched),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            2 => vec(inner.clone(), 1..4).prop_map(ProgramStep::Then),
            3 => vec(inner.clone(), 1..4).prop_map(ProgramStep::All),
            3 => vec(inner.clone(), 1..4).prop_map(ProgramStep::First),
            1 => vec(inner, 1..3).prop_map(ProgramStep::Child),
        ]
    })
}

async fn work(_: ActivityContext, (number, delay_ms): (u64, u64)) -> Result<u64, Failure> {
    tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    Ok(number)
}

async fn program(ctx: OrchestrationContext, program: Program) -> Result<Vec<String>, Failure> {
    sequence(&ctx, &program.steps, "").await
}

/// Every step has a label of its own, so that no two commands are alike.
fn sequence<'a>(
    ctx: &'a OrchestrationContext,
    steps: &'a [ProgramStep],
    label: &'a str,
) -> BoxFuture<'a, Result<Vec<String>, Failure>> {
    Box::pin(async move {
        let mut seen = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            seen.extend(run(ctx, step, format!("{label}.{index}")).await?);
        }
        Ok(seen)
    })
}

async fn run(
    ctx: &OrchestrationContext,
    step: &ProgramStep,
    label: String,
) -> Result<Vec<String>, Failure> {
    let branches = |steps: &'_ [ProgramStep]| -> Vec<(usize, String)> {
        (0..steps.len())
            .map(|n| (n, format!("{label}/{n}")))
            .collect()
    };
    Ok(match step {
        ProgramStep::Work(delay_ms) => {
            let number = ctx.activity(WORK, &(numbered(&label), *delay_ms)).await?;
            vec![format!("{label} work {number}")]
        }
        ProgramStep::Sleep(ms) => {
            ctx.sleep(Duration::from_millis(*ms)).await?;
            vec![format!("{label} slept")]
        }
        ProgramStep::Record => {
            let effect = async { Ok::<u64, Failure>(7) };
            let recorded = ctx.run(label.as_str(), effect).await?;
            vec![format!("{label} recorded {recorded}")]
        }
        ProgramStep::Remember(value) => {
            ctx.set_state(label.as_str(), value)?;
            let value: Option<u64> = ctx.state(label.as_str())?;
            vec![format!("{label} remembers {value:?}")]
        }
        ProgramStep::Patched => {
            let is_patched = ctx.patched(label.as_str()).await;
            vec![format!("{label} patched {is_patched}")]
        }
        ProgramStep::Then(steps) => sequence(ctx, steps, &label).await?,
        ProgramStep::All(steps) => {
            let labels = branches(steps);
            let all = labels
                .iter()
                .map(|(n, label)| sequence(ctx, std::slice::from_ref(&steps[*n]), label));
            let results: Result<Vec<_>, Failure> = join_all(all).await.into_iter().collect();
            results?.concat()
        }
        ProgramStep::First(steps) => {
            let labels = branches(steps);
            let all = labels
                .iter()
                .map(|(n, label)| sequence(ctx, std::slice::from_ref(&steps[*n]), label));
            let (first, index, _) = select_all(all).await;
            let mut seen = first?;
            seen.push(format!("{label} first {index}"));
            seen
        }
        ProgramStep::Child(steps) => {
            let program = Program {
                steps: steps.clone(),
            };
            ctx.sub_orchestration(PROGRAM, &program).await?
        }
    })
}

/// A number that depends on nothing but the label.
fn numbered(label: &str) -> u64 {
    label
        .bytes()
        .fold(7, |number, byte| number * 31 % 1_000_003 + u64::from(byte))
}
