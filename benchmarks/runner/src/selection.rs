//! Who runs what: everything, or what `--only` names.

use std::fmt;

use crate::contender::{self, Contender};
use crate::error::Error;
use crate::options::Options;
use crate::plan::{self, Workload};

#[derive(Debug)]
pub(crate) struct Selection {
    pub(crate) contenders: Vec<Contender>,
    pub(crate) workloads: Vec<Workload>,
}

/// Names of contenders select contenders, other names workloads; where none of a kind is
/// named, all of it is selected.
pub(crate) fn select(options: &Options) -> Result<Selection, Error> {
    let workloads = plan::workloads(options);
    let is_contender = |name: &&String| contender::ALL.iter().any(|one| one.name.contains(*name));
    let (contenders, others): (Vec<&String>, Vec<&String>) =
        options.only.iter().partition(is_contender);
    for name in &others {
        if !workloads.iter().any(|one| one.name.contains(*name)) {
            let what = format!("`{name}` is neither a contender nor a workload; see --list");
            return Err(Error::Usage(what));
        }
    }
    let contenders = narrow(contender::ALL.to_vec(), &contenders, |one| one.name);
    let mut workloads = narrow(workloads, &others, |one| one.name);
    workloads.retain(|workload| contenders.iter().any(|one| workload.is_for(one)));
    Ok(Selection {
        contenders,
        workloads,
    })
}

fn narrow<T>(all: Vec<T>, names: &[&String], name_of: fn(&T) -> &'static str) -> Vec<T> {
    let is_named = |one: &T| names.iter().any(|name| name_of(one).contains(*name));
    let is_wanted = |one: &T| names.is_empty() || is_named(one);
    all.into_iter().filter(is_wanted).collect()
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "contenders:")?;
        for contender in &self.contenders {
            let Contender {
                name,
                label,
                durability,
                ..
            } = contender;
            writeln!(f, "  {name:<20} {label} ({durability})")?;
        }
        writeln!(f, "workloads:")?;
        for workload in &self.workloads {
            writeln!(f, "  {:<20} {}", workload.name, workload.title)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(line: &str) -> Result<Selection, Error> {
        select(&Options::parse(line.split_whitespace().map(str::to_owned))?)
    }

    #[test]
    fn contenders_and_workloads_are_narrowed_apart() {
        let all = selected("").unwrap();
        assert_eq!(all.contenders.len(), contender::ALL.len());
        let some = selected("--only ours,durust").unwrap();
        assert!(some.contenders.len() < all.contenders.len());
        assert!(some.workloads.iter().any(|one| one.name == "chain"));
        assert!(!some.workloads.iter().any(|one| one.name == "raw-fdatasync"));
        let with_limits = selected("--only ours,raw").unwrap();
        assert!(with_limits.workloads.iter().any(|one| one.name == "chain"));
        assert!(
            with_limits
                .workloads
                .iter()
                .any(|one| one.name == "raw-fdatasync")
        );
        let chain = selected("--only durust,chain").unwrap();
        assert_eq!(chain.workloads.len(), 1);
        assert!(selected("--only unknown").is_err());
    }
}
