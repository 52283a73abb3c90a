//! This project beside its stores alone: what share of the raw limit it reaches, and
//! whether that is what is aimed at.
//!
//! Invariant: only runs of the same round are divided by each other, since a machine that
//! changed its mood between rounds changed it for both.

use serde::Serialize;

use crate::contender::Contender;
use crate::plan::{Aim, Better, Workload};
use crate::report::Entry;
use crate::rounds::{Outcome, Ran};
use crate::statistics::Summary;

/// An aim, and what became of it.
#[derive(Debug, Serialize)]
pub(crate) struct Judged {
    pub(crate) contender: &'static str,
    pub(crate) label: &'static str,
    pub(crate) durability: &'static str,
    pub(crate) better: Better,
    pub(crate) bound: f64,
    /// The median of the rounds.
    pub(crate) of_raw: f64,
    pub(crate) is_kept: bool,
}

/// A contender's values divided by those of its store alone, in what is compared first.
pub(crate) fn share(contender: &Contender, workload: &Workload, runs: &[Ran]) -> Option<Summary> {
    let store = contender.store?;
    let value = |name: &str, round: usize| {
        let is_it =
            |ran: &&Ran| ran.round == round && ran.name == name && ran.workload == workload.id();
        match &runs.iter().find(is_it)?.outcome {
            Outcome::Measured(values) => values.get(workload.metrics[0].key).copied(),
            Outcome::DidNotFinish | Outcome::Failed(_) => None,
        }
    };
    let last = runs.iter().map(|ran| ran.round).max()?;
    let shares =
        (1..=last).filter_map(|round| Some(value(contender.name, round)? / value(store, round)?));
    Summary::of(shares.collect())
}

/// What became of the aims of a workload, as far as both sides were run.
pub(crate) fn judge(workload: &Workload, entries: &[Entry]) -> Vec<Judged> {
    let better = workload.metrics[0].better;
    let judged = workload
        .aims
        .iter()
        .filter_map(|&Aim { contender, bound }| {
            let entry = entries.iter().find(|entry| entry.contender == contender)?;
            let of_raw = entry.of_raw.as_ref()?.median;
            Some(Judged {
                contender,
                label: entry.label,
                durability: entry.durability,
                better,
                bound,
                of_raw,
                is_kept: match better {
                    Better::Higher => of_raw >= bound,
                    Better::Lower => of_raw <= bound,
                },
            })
        });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::{self, REFERENCE};
    use crate::options::Options;
    use crate::plan;

    #[test]
    fn only_runs_of_one_round_are_divided() {
        let options = Options::parse(std::iter::empty()).unwrap();
        let workloads = plan::workloads(&options);
        let workload = workloads.iter().find(|one| one.name == "long").unwrap();
        let ran = |round, name, steps: Option<f64>| Ran {
            round,
            name,
            workload: workload.id(),
            outcome: steps.map_or(Outcome::Failed("no".to_owned()), |steps| {
                Outcome::Measured([("steps_per_s".to_owned(), steps)].into())
            }),
        };
        let runs = [
            ran(1, REFERENCE, Some(60.0)),
            ran(1, "raw-sqlite", Some(100.0)),
            ran(2, REFERENCE, None),
            ran(2, "raw-sqlite", Some(1_000.0)),
            ran(3, REFERENCE, Some(160.0)),
            ran(3, "raw-sqlite", Some(200.0)),
        ];
        let of = |name: &str| {
            let contender = contender::ALL.iter().find(|one| one.name == name).unwrap();
            Entry::new(contender, workload, &runs)
        };
        let entries = [of(REFERENCE), of("raw-sqlite")];
        assert_eq!(entries[0].of_raw.as_ref().unwrap().values, [0.6, 0.8]);
        assert_eq!(entries[1].of_raw, None);
        let judged = judge(workload, &entries);
        assert_eq!(judged.len(), 1);
        assert_eq!((judged[0].bound, judged[0].is_kept), (0.7, true));
    }
}
