//! The workloads: what is started, what is checked, what is timed.
//!
//! Invariant: nothing is measured of a run in which an output was wrong or missing.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::contender::{Contender, Problem};
use crate::measured::Measured;
use crate::program::{self, Program};

/// So many steps are looked at on both ends of a long history.
const ENDS: usize = 100;
/// How long nothing may happen before instances count as waiting.
const QUIET: Duration = Duration::from_secs(1);

/// What is done and timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// All instances at once, each with a chain of steps.
    Chain {
        /// How many.
        instances: u64,
        /// How long.
        steps: u64,
    },
    /// One instance that waits for many activities.
    FanOut {
        /// How many.
        width: u64,
    },
    /// One instance with a long chain.
    Long {
        /// How long.
        steps: u64,
    },
    /// One instance at a time on an idle system.
    Latency {
        /// How often.
        runs: u64,
    },
    /// All instances at once, a little of everything.
    Mixed {
        /// How many.
        instances: u64,
    },
    /// Leaves instances half finished; the process is then killed.
    Hold {
        /// How many.
        instances: u64,
    },
    /// A new process finishes what `Hold` left.
    Recover {
        /// How many.
        instances: u64,
    },
}

impl Workload {
    /// The workload of these words.
    ///
    /// # Errors
    /// They are none.
    pub fn parse(words: &[&str]) -> Result<Self, Problem> {
        let unknown = || format!("there is no workload `{}`", words.join(" "));
        let (name, numbers) = words.split_first().ok_or_else(unknown)?;
        let numbers: Result<Vec<u64>, _> = numbers.iter().map(|word| word.parse()).collect();
        match (*name, numbers?.as_slice()) {
            ("chain", &[instances, steps]) => Ok(Self::Chain { instances, steps }),
            ("fan-out", &[width]) => Ok(Self::FanOut { width }),
            ("long", &[steps]) => Ok(Self::Long { steps }),
            ("latency", &[runs]) => Ok(Self::Latency { runs }),
            ("mixed", &[instances]) => Ok(Self::Mixed { instances }),
            ("hold", &[instances]) => Ok(Self::Hold { instances }),
            ("recover", &[instances]) => Ok(Self::Recover { instances }),
            _ => Err(unknown().into()),
        }
    }

    /// Does it; `began` is when the process did.
    pub(crate) async fn measure<C: Contender>(
        self,
        contender: C,
        began: Instant,
    ) -> Result<Measured, Problem> {
        let contender = Arc::new(contender);
        if !matches!(self, Self::Recover { .. }) {
            warm_up(&contender).await?;
        }
        match self {
            Self::Chain { instances, steps } => {
                let took = many(&contender, Program::Chain, instances, |_| steps).await?;
                let rate = instances as f64 / took.as_secs_f64();
                Ok(self.measured([("orchestrations_per_s", rate)]))
            }
            Self::FanOut { width } => {
                let took = many(&contender, Program::FanOut, 1, |_| width).await?;
                let rate = width as f64 / took.as_secs_f64();
                Ok(self.measured([("activities_per_s", rate)]))
            }
            Self::Long { steps } => self.long(&contender, steps).await,
            Self::Latency { runs } => self.latency(&contender, runs).await,
            Self::Mixed { instances } => {
                let took = many(&contender, Program::Mixed, instances, |number| number).await?;
                let rate = instances as f64 / took.as_secs_f64();
                Ok(self.measured([("orchestrations_per_s", rate)]))
            }
            Self::Hold { instances } => self.hold(&contender, instances).await,
            Self::Recover { instances } => self.recover(&contender, instances, began).await,
        }
    }

    async fn long<C: Contender>(self, contender: &Arc<C>, steps: u64) -> Result<Measured, Problem> {
        let took = many(contender, Program::Chain, 1, |_| steps).await?;
        let stamps = program::stamps();
        if stamps.len() <= ENDS {
            return Err(format!("{} steps are too few", stamps.len()).into());
        }
        let span = |from: usize, to: usize| (stamps[to] - stamps[from]).as_secs_f64();
        let per_step_us = |seconds: f64| seconds / ENDS as f64 * 1e6;
        let last = stamps.len() - 1;
        Ok(self.measured([
            ("steps_per_s", steps as f64 / took.as_secs_f64()),
            ("first_100_us", per_step_us(span(0, ENDS))),
            ("last_100_us", per_step_us(span(last - ENDS, last))),
        ]))
    }

    async fn latency<C: Contender>(
        self,
        contender: &Arc<C>,
        runs: u64,
    ) -> Result<Measured, Problem> {
        let mut times = Vec::new();
        for run in 0..runs {
            // Idle, and out of step with pollers.
            sleep(Duration::from_millis(5 + run * 7 % 20)).await;
            let began = Instant::now();
            let output = contender.call(Program::One, &id(run), run).await?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
            check(Program::One, &id(run), run, output)?;
        }
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
        Ok(self.measured([("p50_ms", at(0.5)), ("p99_ms", at(0.99))]))
    }

    /// Half of each instance's activities run, then it waits for its event.
    async fn hold<C: Contender>(
        self,
        contender: &Arc<C>,
        instances: u64,
    ) -> Result<Measured, Problem> {
        each(instances, |number| {
            let contender = Arc::clone(contender);
            async move { contender.start(Program::Gated, &id(number), number).await }
        })
        .await?;
        while program::activities() < 2 * instances as usize {
            sleep(Duration::from_millis(10)).await;
        }
        sleep(QUIET).await;
        Ok(self.measured([]))
    }

    async fn recover<C: Contender>(
        self,
        contender: &Arc<C>,
        instances: u64,
        began: Instant,
    ) -> Result<Measured, Problem> {
        each(instances, |number| {
            let contender = Arc::clone(contender);
            async move {
                let id = id(number);
                contender.raise(Program::Gated, &id).await?;
                let output = contender.wait(Program::Gated, &id).await?;
                check(Program::Gated, &id, number, output)
            }
        })
        .await?;
        let took = began.elapsed().as_secs_f64();
        let again = program::activities() as f64 - 2.0 * instances as f64;
        Ok(self.measured([("all_done_s", took), ("activities_again", again)]))
    }

    fn measured<const N: usize>(self, values: [(&str, f64); N]) -> Measured {
        Measured::new(self.to_string(), values)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chain { instances, steps } => write!(f, "chain {instances} {steps}"),
            Self::FanOut { width } => write!(f, "fan-out {width}"),
            Self::Long { steps } => write!(f, "long {steps}"),
            Self::Latency { runs } => write!(f, "latency {runs}"),
            Self::Mixed { instances } => write!(f, "mixed {instances}"),
            Self::Hold { instances } => write!(f, "hold {instances}"),
            Self::Recover { instances } => write!(f, "recover {instances}"),
        }
    }
}

/// What happens once in the life of a process or of a server is not measured: the first
/// connections, the first plans of a database, the election of leaders.
async fn warm_up<C: Contender>(contender: &Arc<C>) -> Result<(), Problem> {
    each(C::WARM_UP, |number| {
        let contender = Arc::clone(contender);
        async move {
            let id = format!("warm-up-{number}");
            let output = contender.call(Program::One, &id, number).await?;
            check(Program::One, &id, number, output)
        }
    })
    .await?;
    program::forget_stamps();
    Ok(())
}

/// Runs instances of a program, all at once: from the first start to the last output.
async fn many<C: Contender>(
    contender: &Arc<C>,
    program: Program,
    instances: u64,
    input: impl Fn(u64) -> u64,
) -> Result<Duration, Problem> {
    let began = Instant::now();
    each(instances, |number| {
        let (contender, input) = (Arc::clone(contender), input(number));
        async move {
            let id = id(number);
            let output = if program == Program::Mixed {
                contender.start(program, &id, input).await?;
                contender.raise(program, &id).await?;
                contender.wait(program, &id).await?
            } else {
                contender.call(program, &id, input).await?
            };
            check(program, &id, input, output)
        }
    })
    .await?;
    Ok(began.elapsed())
}

/// Does something for every number, each in a task of its own.
async fn each<F>(count: u64, task: impl Fn(u64) -> F) -> Result<(), Problem>
where
    F: Future<Output = Result<(), Problem>> + Send + 'static,
{
    let mut tasks: JoinSet<_> = (0..count).map(task).collect();
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(())
}

fn id(number: u64) -> String {
    format!("instance-{number}")
}

fn check(program: Program, id: &str, input: u64, output: u64) -> Result<(), Problem> {
    let expected = program.output(input);
    if output == expected {
        return Ok(());
    }
    let program = program.name();
    Err(format!("{program} {id}: expected {expected}, got {output}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_is_read_as_it_is_written() {
        for line in [
            "chain 1000 5",
            "fan-out 10",
            "long 300",
            "hold 7",
            "recover 7",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(Workload::parse(&words).unwrap().to_string(), line);
        }
    }

    #[test]
    fn what_is_no_workload_is_refused() {
        for line in ["", "chain", "chain one 5", "chains 1 5", "long 1 2"] {
            let words: Vec<&str> = line.split(' ').collect();
            assert!(Workload::parse(&words).is_err(), "{line}");
        }
    }
}
