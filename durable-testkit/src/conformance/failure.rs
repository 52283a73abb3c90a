//! How a check fails: as data, with what was expected and what was found.

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::panic::Location;

use durable_core::provider::ProviderError;

/// What a check returns.
pub(super) type CheckResult<T = ()> = Result<T, CheckFailure>;

/// Why a check failed.
///
/// See the example of [`ConformanceReport`](crate::ConformanceReport).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFailure {
    /// What the check looked at.
    pub what: String,
    /// What the contract demands.
    pub expected: String,
    /// What the provider did.
    pub found: String,
    /// Where in the suite.
    pub location: String,
}

impl CheckFailure {
    #[track_caller]
    pub(super) fn new(
        what: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        let location = Location::caller();
        Self {
            what: what.into(),
            expected: expected.into(),
            found: found.into(),
            location: format!("{}:{}", location.file(), location.line()),
        }
    }

    /// The same failure, and what had been done before.
    pub(super) fn after(mut self, what: impl fmt::Display) -> Self {
        self.what = format!("{}, after {what}", self.what);
        self
    }
}

impl fmt::Display for CheckFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        writeln!(f, "  expected: {}", self.expected)?;
        writeln!(f, "  found:    {}", self.found)?;
        write!(f, "  at {}", self.location)
    }
}

impl std::error::Error for CheckFailure {}

impl From<ProviderError> for CheckFailure {
    #[track_caller]
    fn from(error: ProviderError) -> Self {
        Self::new("a call", "an answer", format!("the error: {error}"))
    }
}

/// Demands that nodes which took things at once got so many, and each thing once.
#[track_caller]
pub(super) fn ensure_each_taken_once<T: Ord>(
    what: &str,
    taken: Vec<Result<Vec<T>, CheckFailure>>,
    expected: usize,
) -> CheckResult {
    let mut distinct = BTreeSet::new();
    let mut twice = 0;
    for of_one_node in taken {
        for thing in of_one_node? {
            twice += usize::from(!distinct.insert(thing));
        }
    }
    ensure_eq(format!("{what} that were handed out twice"), twice, 0)?;
    ensure_eq(
        format!("{what} that were handed out"),
        distinct.len(),
        expected,
    )
}

/// Demands that two values are equal.
#[track_caller]
#[expect(
    clippy::needless_pass_by_value,
    reason = "a check reads better without `&` at every value"
)]
pub(super) fn ensure_eq<T: PartialEq + Debug>(
    what: impl Into<String>,
    found: T,
    expected: T,
) -> CheckResult {
    if found == expected {
        return Ok(());
    }
    let shown = brief(&expected);
    let found = told_apart(&shown, brief(&found));
    Err(CheckFailure::new(what, shown, found))
}

/// How a value that is another than the expected one is shown. `Debug` shows the length of
/// a payload only, so both may look the same.
pub(crate) fn told_apart(expected: &str, found: String) -> String {
    match found == expected {
        true => format!("{found} (with another payload of the same length)"),
        false => found,
    }
}

/// Demands that something holds; `found` says what was there instead.
#[track_caller]
pub(super) fn ensure(
    holds: bool,
    what: impl Into<String>,
    expected: impl Into<String>,
    found: impl Debug,
) -> CheckResult {
    if holds {
        return Ok(());
    }
    Err(CheckFailure::new(what, expected, brief(&found)))
}

/// Prints a value; of a very long one, such as a payload of a mebibyte, the
/// beginning.
fn brief(value: &impl Debug) -> String {
    const MOST: usize = 2_000;
    let text = format!("{value:?}");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use durable_core::Payload;

    use super::*;

    #[test]
    fn payloads_that_look_the_same_are_told_apart() {
        let compared = ensure_eq("the input", Payload::from("1"), Payload::from("2"));
        let failure = compared.unwrap_err();
        assert_eq!(failure.expected, "Payload(1 bytes)");
        assert_eq!(
            failure.found,
            "Payload(1 bytes) (with another payload of the same length)"
        );
    }
}
