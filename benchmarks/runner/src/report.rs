//! What the rounds gave, put together: what the table, the file for machines and the
//! chart are made of.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::contender::{Contender, REFERENCE, Role};
use crate::error::Error;
use crate::machine::Machine;
use crate::options::Options;
use crate::plan::{Better, Metric, Workload};
use crate::prepare::Prepared;
use crate::raw::{self, Judged};
use crate::rounds::{Outcome, Ran};
use crate::statistics::Summary;

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    /// Of the servers.
    pub(crate) versions: Vec<String>,
    pub(crate) rounds: usize,
    pub(crate) is_quick: bool,
    pub(crate) limit_s: u64,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) workloads: Vec<Group>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Skipped {
    pub(crate) contender: &'static str,
    pub(crate) why: String,
}

/// One workload, and everybody who ran it.
#[derive(Debug, Serialize)]
pub(crate) struct Group {
    pub(crate) workload: String,
    pub(crate) title: String,
    #[serde(skip)]
    pub(crate) metrics: &'static [Metric],
    pub(crate) entries: Vec<Entry>,
    pub(crate) aims: Vec<Judged>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Entry {
    pub(crate) contender: &'static str,
    pub(crate) label: &'static str,
    pub(crate) durability: &'static str,
    #[serde(skip)]
    pub(crate) role: Role,
    pub(crate) values: BTreeMap<String, Summary>,
    /// In how many rounds it did not finish in time.
    pub(crate) did_not_finish: usize,
    /// The last words of the runs that failed.
    pub(crate) failures: Vec<String>,
    /// How many times better this project is, in what is compared first.
    pub(crate) ours_is_better: Option<f64>,
    /// Its value divided by that of its store alone, in what is compared first.
    pub(crate) of_raw: Option<Summary>,
}

impl Report {
    pub(crate) fn new(
        options: &Options,
        machine: Machine,
        prepared: &Prepared,
        runs: &[Ran],
    ) -> Self {
        let servers = prepared
            .ready
            .iter()
            .filter_map(|ready| ready.server.as_ref());
        let mut versions: Vec<String> = servers.map(|server| server.version.clone()).collect();
        versions.sort();
        versions.dedup();
        let skipped = prepared.skipped.iter().map(|(contender, why)| Skipped {
            contender: contender.name,
            why: why.clone(),
        });
        Self {
            machine,
            versions,
            rounds: options.rounds,
            is_quick: options.quick,
            limit_s: options.limit.as_secs(),
            skipped: skipped.collect(),
            workloads: prepared
                .workloads
                .iter()
                .map(|workload| Group::new(workload, prepared, runs))
                .collect(),
        }
    }

    /// This project's own runs must all have succeeded.
    pub(crate) fn verdict(&self) -> Result<(), Error> {
        let entries = self.workloads.iter().flat_map(|group| &group.entries);
        let ours = entries.filter(|entry| entry.role == Role::Ours);
        let runs = ours.map(|entry| entry.failures.len() + entry.did_not_finish);
        match runs.sum() {
            0 => Ok(()),
            runs => Err(Error::Failed { runs }),
        }
    }
}

impl Group {
    fn new(workload: &Workload, prepared: &Prepared, runs: &[Ran]) -> Self {
        let who = prepared.ready.iter().map(|ready| &ready.contender);
        let who = who.filter(|contender| workload.is_for(contender));
        let entries = who.map(|contender| Entry::new(contender, workload, runs));
        Self::of(workload, entries.collect())
    }

    fn of(workload: &Workload, entries: Vec<Entry>) -> Self {
        let mut group = Self {
            workload: workload.id(),
            title: workload.title.clone(),
            metrics: workload.metrics,
            aims: raw::judge(workload, &entries),
            entries,
        };
        group.compare();
        group
    }

    /// Compares everybody with this project, in what is compared first.
    fn compare(&mut self) {
        let metric = &self.metrics[0];
        let first = |entry: &Entry| entry.values.get(metric.key).map(|value| value.median);
        let reference = self
            .entries
            .iter()
            .find(|entry| entry.contender == REFERENCE);
        let Some(ours) = reference.and_then(first) else {
            return;
        };
        for entry in &mut self.entries {
            let Some(theirs) = first(entry).filter(|_| entry.role == Role::Peer) else {
                continue;
            };
            entry.ours_is_better = Some(match metric.better {
                Better::Higher => ours / theirs,
                Better::Lower => theirs / ours,
            });
        }
    }
}

impl Entry {
    pub(crate) fn new(contender: &Contender, workload: &Workload, runs: &[Ran]) -> Self {
        let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let (mut did_not_finish, mut failures) = (0, Vec::new());
        let mine = |ran: &&Ran| ran.name == contender.name && ran.workload == workload.id();
        for ran in runs.iter().filter(mine) {
            match &ran.outcome {
                Outcome::DidNotFinish => did_not_finish += 1,
                Outcome::Failed(why) => failures.push(why.clone()),
                Outcome::Measured(measured) => {
                    for (key, value) in measured {
                        values.entry(key.clone()).or_default().push(*value);
                    }
                }
            }
        }
        let summaries = values
            .into_iter()
            .filter_map(|(key, values)| Some((key, Summary::of(values)?)));
        Self {
            contender: contender.name,
            label: contender.label,
            durability: contender.durability,
            role: contender.role,
            values: summaries.collect(),
            did_not_finish,
            failures,
            ours_is_better: None,
            of_raw: raw::share(contender, workload, runs),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{contender, machine, plan};

    /// Three contenders on one workload: three rounds, one round, not finished; and the
    /// store of the first alone, one round.
    pub(crate) fn sample() -> Report {
        let options = Options::parse(std::iter::empty()).unwrap();
        let workloads = plan::workloads(&options);
        let workload = workloads.iter().find(|one| one.name == "chain").unwrap();
        let rate = |value| {
            let value = ("orchestrations_per_s".to_owned(), value);
            Outcome::Measured([value].into())
        };
        let ran = |round, name, outcome| Ran {
            round,
            name,
            workload: workload.id(),
            outcome,
        };
        let runs = [
            ran(1, REFERENCE, rate(300.0)),
            ran(1, "raw-sqlite", rate(400.0)),
            ran(1, "durust-default", rate(100.0)),
            ran(1, "duroxide-tuned", Outcome::DidNotFinish),
            ran(2, REFERENCE, rate(200.0)),
            ran(3, REFERENCE, rate(400.0)),
        ];
        let names = [REFERENCE, "raw-sqlite", "durust-default", "duroxide-tuned"];
        let entries = names.map(|name| {
            let contender = contender::ALL.iter().find(|one| one.name == name).unwrap();
            Entry::new(contender, workload, &runs)
        });
        Report {
            machine: machine::describe(),
            versions: Vec::new(),
            rounds: 3,
            is_quick: false,
            limit_s: 120,
            skipped: Vec::new(),
            workloads: vec![Group::of(workload, entries.into())],
        }
    }

    #[test]
    fn peers_are_compared_with_the_reference() {
        let report = sample();
        let entries = report.workloads[0].entries.iter();
        let better: Vec<_> = entries.map(|entry| entry.ours_is_better).collect();
        assert_eq!(better, [None, None, Some(3.0), None]);
        assert!(report.verdict().is_ok());
    }
}
