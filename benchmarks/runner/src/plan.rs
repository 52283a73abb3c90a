//! Which workloads are run, of which size, and what of them is shown.

use serde::Serialize;

use crate::contender::{Contender, Role};
use crate::options::Options;

/// A workload of one size.
#[derive(Debug, Clone, PartialEq)]
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
    /// Who is to come how near to its store alone.
    pub(crate) aims: &'static [Aim],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// This project and its peers.
    Engines,
    /// These, and the stores of this project without an engine.
    EnginesAndStores,
    /// This project only: no peer is asked for so much.
    Ours,
    /// The disk alone.
    Disk,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Better {
    Higher,
    Lower,
}

/// How near a contender is to come to its store alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Aim {
    /// Its name.
    pub(crate) contender: &'static str,
    /// Its value divided by the store's: at least this, or of what is better lower at most.
    pub(crate) bound: f64,
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
const SYNC: &[Metric] = &[lower("p50_ms", "p50, ms"), lower("p99_ms", "p99, ms")];
const PEAK: Metric = lower(MEMORY, "peak memory, MB");

// What is aimed at beside a store alone.
const CHAIN_AIMS: &[Aim] = &[aim("ours-sqlite-full", 0.5), aim("ours-redis-always", 0.4)];
const LONG_AIMS: &[Aim] = &[aim("ours-sqlite-full", 0.7)];
const LATENCY_AIMS: &[Aim] = &[aim("ours-sqlite-full", 2.0), aim("ours-redis-always", 3.0)];

const fn higher(key: &'static str, title: &'static str) -> Metric {
    let better = Better::Higher;
    Metric { key, title, better }
}

const fn lower(key: &'static str, title: &'static str) -> Metric {
    let better = Better::Lower;
    Metric { key, title, better }
}

const fn aim(contender: &'static str, bound: f64) -> Aim {
    Aim { contender, bound }
}

/// The workloads in the order in which they run.
pub(crate) fn workloads(options: &Options) -> Vec<Workload> {
    let size = |full: u64, quick: u64| if options.quick { quick } else { full };
    let instances = size(1_000, 100);
    let mut workloads = vec![
        disk(size(2_000, 200)),
        engines(
            "chain",
            "hello chain",
            &format!("chain {instances} 5"),
            RATE,
        )
        .beside_stores(CHAIN_AIMS),
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
        let words = format!("long {steps}");
        let long = engines("long", "sequential steps", &words, LONG);
        workloads.push(long.beside_stores(LONG_AIMS));
    }
    let runs = size(200, 20);
    let words = format!("latency {runs}");
    let latency = engines("latency", "idle latency", &words, LATENCY);
    workloads.push(latency.beside_stores(LATENCY_AIMS));
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
            Whom::Engines => matches!(contender.role, Role::Ours | Role::Peer),
            Whom::EnginesAndStores => contender.role != Role::Disk,
            Whom::Ours => contender.role == Role::Ours,
            Whom::Disk => contender.role == Role::Disk,
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

    fn beside_stores(mut self, aims: &'static [Aim]) -> Self {
        self.for_whom = Whom::EnginesAndStores;
        self.aims = aims;
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
        aims: &[],
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

fn disk(writes: u64) -> Workload {
    Workload {
        name: "raw-fdatasync",
        title: "Raw: fdatasync".to_owned(),
        words: vec!["fdatasync".to_owned(), writes.to_string()],
        before: None,
        for_whom: Whom::Disk,
        metrics: SYNC,
        aims: &[],
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
