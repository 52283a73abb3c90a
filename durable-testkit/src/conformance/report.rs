//! What a run of the suite found.

use std::collections::BTreeMap;
use std::fmt;

use super::check::Check;
use super::failure::CheckFailure;
use super::promise::ContractPromise;

/// The outcome of every check.
///
/// ```
/// use async_trait::async_trait;
/// use durable_core::provider::{FiredTimers, Layer, Layered, Provider, ProviderError};
/// use durable_testkit::{CheckOutcome, Conformance, MemoryProvider};
///
/// /// A store whose timers never fire.
/// struct Sleepy(MemoryProvider);
///
/// #[async_trait]
/// impl Layer for Sleepy {
///     type Inner = MemoryProvider;
///
///     fn inner(&self) -> &MemoryProvider {
///         &self.0
///     }
///
///     async fn fire_timers(&self, _: usize) -> Result<FiredTimers, ProviderError> {
///         self.0.fire_timers(0).await
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let sleepy = |clock| Layered(Sleepy(MemoryProvider::with_clock(clock)));
/// let report = Conformance::new(move |clock| async move { sleepy(clock) })
///     .only(["a_timer_fires_once_and_says_when_it_was_due"])
///     .run()
///     .await;
/// assert!(!report.is_ok());
/// assert_eq!(report.failed_names(), ["a_timer_fires_once_and_says_when_it_was_due"]);
/// let (check, failure) = report.failures().next().unwrap();
/// assert!(matches!(check.outcome, CheckOutcome::Broken(_)));
/// assert_ne!(failure.expected, failure.found);
/// # });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct ConformanceReport {
    /// One for each check, in the order in which they ran.
    pub checks: Vec<CheckReport>,
}

/// The outcome of one check.
///
/// See the example of [`ConformanceReport`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// Its name.
    pub name: &'static str,
    /// What it stands for.
    pub promise: ContractPromise,
    /// How it went.
    pub outcome: CheckOutcome,
}

impl CheckReport {
    pub(super) fn new(check: &Check, outcome: CheckOutcome) -> Self {
        Self {
            name: check.name,
            promise: check.promise,
            outcome,
        }
    }
}

/// How a check went.
///
/// See the example of [`ConformanceReport`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    /// The promise was kept.
    Kept,
    /// The promise was broken.
    Broken(CheckFailure),
    /// The check could not be run.
    NotRun {
        /// What it lacks.
        reason: &'static str,
    },
}

impl ConformanceReport {
    /// Whether no check failed.
    pub fn is_ok(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The checks that failed.
    pub fn failures(&self) -> impl Iterator<Item = (&CheckReport, &CheckFailure)> {
        self.checks.iter().filter_map(|check| match &check.outcome {
            CheckOutcome::Broken(failure) => Some((check, failure)),
            CheckOutcome::Kept | CheckOutcome::NotRun { .. } => None,
        })
    }

    /// The names of the checks that failed.
    pub fn failed_names(&self) -> Vec<&'static str> {
        self.failures().map(|(check, _)| check.name).collect()
    }

    /// Panics with the whole report if a check failed.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test calls it to fail")]
    pub fn assert_ok(&self) {
        if !self.is_ok() {
            panic!("{self}");
        }
    }
}

impl fmt::Display for ConformanceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = self.failures().count();
        let mut left_out: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for check in &self.checks {
            if let CheckOutcome::NotRun { reason } = check.outcome {
                left_out.entry(reason).or_default().push(check.name);
            }
        }
        let not_run: usize = left_out.values().map(Vec::len).sum();
        let kept = self.checks.len() - failed - not_run;
        writeln!(
            f,
            "conformance: {kept} checks kept, {failed} broken, {not_run} not run"
        )?;
        for (check, failure) in self.failures() {
            writeln!(f, "\n{} ({})", check.name, check.promise)?;
            for line in failure.to_string().lines() {
                writeln!(f, "  {line}")?;
            }
        }
        for (reason, names) in left_out {
            writeln!(f, "\nnot run, because {reason}: {}", names.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcome: CheckOutcome) -> ConformanceReport {
        let check = CheckReport {
            name: "messages_come_in_order",
            promise: ContractPromise::Inbox,
            outcome,
        };
        ConformanceReport {
            checks: vec![check],
        }
    }

    #[test]
    fn a_broken_promise_is_named_with_what_was_expected_and_found() {
        let failure = CheckFailure::new("the inbox", "m1, m2", "m2, m1");
        let report = report(CheckOutcome::Broken(failure));
        let text = report.to_string();
        for part in [
            "0 checks kept, 1 broken, 0 not run",
            "messages_come_in_order (promise 4: a message leaves the inbox",
            "expected: m1, m2",
            "found:    m2, m1",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
        assert!(!report.is_ok());
    }

    #[test]
    fn a_check_that_was_not_run_is_listed_and_does_not_fail() {
        let report = report(CheckOutcome::NotRun { reason: "no store" });
        assert!(report.is_ok());
        let line = "not run, because no store: messages_come_in_order";
        assert!(report.to_string().contains(line));
    }
}
