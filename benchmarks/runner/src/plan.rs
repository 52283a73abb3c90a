//! Which workloads are run, of which size, and what of them is shown.

use crate::contender::{Contender, Role};
use crate::options::Options;

/// A workload of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workload {
    /// For the command line and for machines.
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) title: String,
    /// What the contender is told.
    pub(crate) words: Vec<String>,
    /// A run before it in a process of its own, which is then killed.
    pub(crate) before: Option<Vec<String>>,
    /// Who runs it.
    pub(crate) for_whom: Whom,
    /// What is shown, the first being what is compared.
    pub(crate) metrics: &'static [Metric],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// This project and its peers.
    Engines,
    /// This project only: no peer is asked for so much.
    Ours,
    /// The limits of the machine, those whose name begins so.
    Limit(&'static str),
}

/// A value that is measured.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Metric {
    /// As the contender names it.
    pub(crate) key: &'static str,
    /// For people, with the unit.
    pub(crate) title: &'static str,
    pub(crate) better: Better,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Higher,
    Lower,
}

/// Memory at the end of a run, of all processes.
pub(crate) const MEMORY: &str = "peak_memory_mb";
/// Memory when the half-finished instances waited.
pub(crate) const LIVE_MEMORY: &str = "live_memory_mb";

const RATE: &[Metric] = &[higher("orchestrations_per_s", "orchestrations/s"), PEAK];
const FAN_OUT: &[Metric] = &[higher("activities_per_s", "activities/s"), PEAK];
const LONG: &[Metric] = &[
    higher("steps_per_s", "steps/s"),
    lower("first_100_us", "first 100, µs/step"),
    lower("last_100_us", "last 100, µs/step"),
    PEAK,
];
const LATENCY: &[Metric] = &[lower("p50_ms", "p50, ms"), lower("p99_ms", "p99, ms"), PEAK];
const RECOVERY: &[Metric] = &[
    lower("all_done_s", "all done, s"),
    lower("activities_again", "activities run again"),
    lower(LIVE_MEMORY, "memory while waiting, MB"),
];
const SQLITE: &[Metric] = &[
    higher("steps_per_s", "commits of a step/s, one by one"),
    lower("orchestration_ms", "commits of one activity, p50, ms"),
    higher("batched_per_s", "commits/s, batched by 64"),
];
const SYNC: &[Metric] = &[lower("p50_ms", "p50, ms"), lower("p99_ms", "p99, ms")];
const REDIS: &[Metric] = &[
    higher("one_by_one_per_s", "commits/s, one by one"),
    higher("pipelined_per_s", "commits/s, 64 in flight"),
];
const PEAK: Metric = lower(MEMORY, "peak memory, MB");

const fn higher(key: &'static str, title: &'static str) -> Metric {
    let better = Better::Higher;
    Metric { key, title, better }
}

const fn lower(key: &'static str, title: &'static str) -> Metric {
    let better = Better::Lower;
    Metric { key, title, better }
}

/// The workloads in the order in which they run.
pub(crate) fn workloads(options: &Options) -> Vec<Workload> {
    let size = |full: u64, quick: u64| if options.quick { quick } else { full };
    let instances = size(1_000, 100);
    let mut workloads = vec![
        limit(
            "raw-fdatasync",
            "Raw: fdatasync",
            "fdatasync",
            size(2_000, 200),
            SYNC,
        ),
        limit(
            "raw-sqlite",
            "Raw: SQLite with our rows",
            "sqlite",
            size(1_000, 100),
            SQLITE,
        ),
        limit(
            "raw-redis",
            "Raw: Redis with our rows",
            "redis",
            size(10_000, 1_000),
            REDIS,
        ),
        engines(
            "chain",
            "hello chain",
            &format!("chain {instances} 5"),
            RATE,
        ),
    ];
    for width in [size(1_000, 200), size(5_000, 1_000)] {
        workloads.push(engines(
            "fan-out",
            "fan-out",
            &format!("fan-out {width}"),
            FAN_OUT,
        ));
    }
    let wide = format!("fan-out {}", size(10_000, 2_000));
    workloads.push(engines("fan-out", "fan-out", &wide, FAN_OUT).ours());
    let lengths = if options.quick {
        vec![300]
    } else {
        vec![1_000, 2_000, 4_000]
    };
    for steps in lengths {
        workloads.push(engines(
            "long",
            "sequential steps",
            &format!("long {steps}"),
            LONG,
        ));
    }
    let runs = size(200, 20);
    workloads.push(engines(
        "latency",
        "idle latency",
        &format!("latency {runs}"),
        LATENCY,
    ));
    workloads.push(engines(
        "mixed",
        "mixed",
        &format!("mixed {instances}"),
        RATE,
    ));
    workloads.push(recovery(instances));
    workloads.push(recovery(size(10_000, 1_000)).ours());
    workloads
}

impl Workload {
    pub(crate) fn is_for(&self, contender: &Contender) -> bool {
        match self.for_whom {
            Whom::Engines => contender.role != Role::Limit,
            Whom::Ours => contender.role == Role::Ours,
            Whom::Limit(settings) => {
                contender.role == Role::Limit && contender.settings == settings
            }
        }
    }

    /// What tells it from the others, also in size.
    pub(crate) fn id(&self) -> String {
        self.words.join(" ")
    }

    fn ours(mut self) -> Self {
        self.for_whom = Whom::Ours;
        self
    }
}

fn engines(name: &'static str, title: &str, words: &str, metrics: &'static [Metric]) -> Workload {
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    Workload {
        name,
        title: format!("{title} ({})", sizes(&words)),
        words,
        before: None,
        for_whom: Whom::Engines,
        metrics,
    }
}

fn recovery(instances: u64) -> Workload {
    let mut workload = engines(
        "recovery",
        "recovery",
        &format!("recover {instances}"),
        RECOVERY,
    );
    workload.before = Some(vec!["hold".to_owned(), instances.to_string()]);
    workload
}

fn limit(
    name: &'static str,
    title: &str,
    settings: &'static str,
    size: u64,
    metrics: &'static [Metric],
) -> Workload {
    Workload {
        name,
        title: title.to_owned(),
        words: vec![settings.to_owned(), size.to_string()],
        before: None,
        for_whom: Whom::Limit(settings),
        metrics,
    }
}

/// The numbers of a workload, as people write them.
fn sizes(words: &[String]) -> String {
    let numbers = words[1..].iter().map(|word| {
        let (head, tail) = word.split_at(word.len().saturating_sub(3));
        if head.is_empty() {
            tail.to_owned()
        } else {
            format!("{head},{tail}")
        }
    });
    numbers.collect::<Vec<_>>().join(" × ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_say_the_size() {
        let workload = engines("chain", "hello chain", "chain 1000 5", RATE);
        assert_eq!(workload.title, "hello chain (1,000 × 5)");
        assert_eq!(workload.id(), "chain 1000 5");
    }
}
