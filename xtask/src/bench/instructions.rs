//! `cargo xtask bench instructions`: how many instructions the replay hot path takes,
//! counted by callgrind and compared with the checked-in baseline.
//!
//! Instructions do not depend on how busy the machine is. A count that grew by more
//! than a tenth is an error; `--accept` writes the counts as the new baseline.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use crate::ci::stage::Step;
use crate::error::Error;
use crate::process::Invocation;
use crate::report;
use crate::workspace::Workspace;

const MANIFEST: &str = "benchmarks/instructions/Cargo.toml";
const BASELINE: &str = "benchmarks/instructions/baseline.txt";
/// So many percent more than the baseline are accepted.
const TOLERATED: u64 = 10;
/// The function that is counted.
const COUNTED: &str = "bench_instructions::counted*";
const GET_VALGRIND: &str = "valgrind is not installed, so no instructions are counted; to get it: apt-get install valgrind";

/// Counts by name of the part.
type Counts = BTreeMap<String, u64>;

/// Counts and compares.
pub(super) fn run(arguments: &[&str]) -> Result<(), Error> {
    let workspace = Workspace::find()?;
    let counts = match arguments {
        [] | ["--accept"] => count(&workspace)?,
        [extra, ..] => {
            return Err(Error::UnexpectedArgument {
                command: "bench instructions",
                argument: (*extra).to_owned(),
            });
        }
    };
    let path = workspace.root.join(BASELINE);
    if !arguments.is_empty() {
        let text = render(&counts, &compiler(&workspace));
        fs::write(&path, text).map_err(|source| Error::File { path, source })?;
    }
    let path = workspace.root.join(BASELINE);
    let baseline = fs::read_to_string(&path).map_err(|source| Error::File { path, source })?;
    let (lines, grown) = compare(&counts, &parse(&baseline));
    lines.iter().for_each(report::line);
    if grown.is_empty() {
        return Ok(());
    }
    Err(Error::MoreInstructions { parts: grown })
}

/// One step of `ci`; where there is no valgrind it is installed, if that can be done.
pub(crate) fn steps(workspace: &Workspace) -> Vec<Step> {
    let valgrind = || Invocation::new("valgrind", &["--version"]).answer(&workspace.root);
    let install = || {
        let arguments = ["install", "-y", "--no-install-recommends", "valgrind"];
        Invocation::new("apt-get", &arguments).answer(&workspace.root)
    };
    if valgrind().is_none() && (install().is_none() || valgrind().is_none()) {
        return vec![Step::skip(GET_VALGRIND)];
    }
    let arguments = ["xtask", "bench", "instructions"];
    vec![Step::run("", Invocation::cargo(&arguments))]
}

fn count(workspace: &Workspace) -> Result<Counts, Error> {
    let target = workspace.target("benchmarks");
    let build = ["build", "--quiet", "--release", "--locked"];
    let place = ["--manifest-path", MANIFEST, "--target-dir", &target];
    Invocation::cargo(&[&build[..], &place].concat()).stream(&workspace.root)?;
    let binary = format!("{target}/release/bench-instructions");
    let parts = Invocation::new(binary.clone(), &[]).capture(&workspace.root)?;
    let counted = parts.text.lines().map(|part| {
        let counted = format!("--toggle-collect={COUNTED}");
        let callgrind = [
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            &counted,
        ];
        let run = Invocation::new("valgrind", &[&callgrind[..], &[&binary, part]].concat());
        let said = run.capture(&workspace.root)?;
        let count = said
            .text
            .lines()
            .find_map(collected)
            .filter(|_| said.success);
        let count = count.ok_or_else(|| Error::Failed {
            command: run.to_string(),
        })?;
        Ok((part.to_owned(), count))
    });
    counted.collect()
}

/// The count of callgrind's line `==1234== Collected : 56789`.
fn collected(line: &str) -> Option<u64> {
    let (_, count) = line.split_once("Collected :")?;
    count.trim().parse().ok().filter(|&count| count > 0)
}

fn compiler(workspace: &Workspace) -> String {
    let version = Invocation::new("rustc", &["--version"]).answer(&workspace.root);
    version.unwrap_or_default().trim().to_owned()
}

fn render(counts: &Counts, compiler: &str) -> String {
    let mut text = format!(
        "# Instructions of the replay hot path: 1,000 activities, counted by callgrind.\n\
         # Written by `cargo xtask bench instructions --accept`, with {compiler}.\n"
    );
    for (part, count) in counts {
        let _ = writeln!(text, "{part} {count}");
    }
    text
}

fn parse(text: &str) -> Counts {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let counts = lines.filter_map(|line| {
        let (part, count) = line.split_once(' ')?;
        Some((part.to_owned(), count.trim().parse().ok()?))
    });
    counts.collect()
}

/// A line for every part, and the parts that grew too much or are new or gone.
fn compare(counts: &Counts, baseline: &Counts) -> (Vec<String>, Vec<String>) {
    let mut lines = Vec::new();
    let mut grown = Vec::new();
    for (part, &count) in counts {
        let Some(&before) = baseline.get(part) else {
            lines.push(format!("{part:<14} {count:>12}  not in the baseline"));
            grown.push(part.clone());
            continue;
        };
        let change = (count as f64 / before as f64 - 1.0) * 100.0;
        lines.push(format!("{part:<14} {count:>12}  {change:+.1} %"));
        if count * 100 > before * (100 + TOLERATED) {
            grown.push(part.clone());
        }
    }
    let gone = baseline.keys().filter(|part| !counts.contains_key(*part));
    for part in gone {
        lines.push(format!("{part:<14} {:>12}  only in the baseline", "-"));
        grown.push(part.clone());
    }
    (lines, grown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, u64)]) -> Counts {
        let pairs = pairs.iter().map(|&(part, count)| (part.to_owned(), count));
        pairs.collect()
    }

    #[test]
    fn a_tenth_more_is_tolerated_and_more_is_not() {
        let baseline = counts(&[("decode", 1_000)]);
        assert!(
            compare(&counts(&[("decode", 1_100)]), &baseline)
                .1
                .is_empty()
        );
        assert!(compare(&counts(&[("decode", 1)]), &baseline).1.is_empty());
        assert_eq!(
            compare(&counts(&[("decode", 1_101)]), &baseline).1,
            ["decode"]
        );
    }

    #[test]
    fn a_part_without_a_partner_is_named() {
        let (lines, grown) = compare(&counts(&[("new", 1)]), &counts(&[("old", 1)]));
        assert_eq!(grown, ["new", "old"]);
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn the_baseline_is_read_as_it_is_written() {
        let written = counts(&[("decode", 12), ("replay-chain", 345)]);
        assert_eq!(parse(&render(&written, "rustc 1.0.0")), written);
    }

    #[test]
    fn the_count_is_found_in_what_callgrind_says() {
        assert_eq!(collected("==7== Collected : 1234567"), Some(1_234_567));
        assert_eq!(collected("==7== Collected : 0"), None);
        assert_eq!(collected("==7== Events    : Ir"), None);
    }
}
