//! How much of a seed's run takes place: all of it, or what shrinking left.
//!
//! Every fault has a place that follows from the seed, so that one can be left out
//! without the others moving. Nothing here decides what goes wrong.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Where a fault strikes: at a call of a life of a node, in one of its degraded
/// periods, at its end.
///
/// ```
/// use durable_testkit::{FaultPlace, SimScope};
///
/// let scope: SimScope = "nodes=2 faults=node-1.2/57,client/3".parse()?;
/// assert!(scope.allows(&FaultPlace::new("client/3")));
/// assert!(!scope.allows(&FaultPlace::new("client/4")));
/// # Ok::<(), durable_testkit::SimScopeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultPlace(Arc<str>);

impl FaultPlace {
    /// The place with this name, as reports show it.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for FaultPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How much of a seed's run takes place. `None` leaves everything as the seed has it.
///
/// Its text form is what `cargo xtask sim --scope` takes:
///
/// ```
/// use durable_testkit::SimScope;
///
/// let scope: SimScope = "nodes=2 parts=3,8 faults=".parse()?;
/// assert_eq!(scope.nodes, Some(2));
/// assert_eq!(scope.faults.as_ref().map(|faults| faults.len()), Some(0));
/// assert_eq!(scope.to_string(), "nodes=2 parts=3,8 faults=");
/// assert_eq!(SimScope::default().to_string(), "");
/// # Ok::<(), durable_testkit::SimScopeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimScope {
    /// How many nodes there are.
    pub nodes: Option<usize>,
    /// The parts of the workload that run; see [`SimClient::parts`](crate::SimClient::parts).
    pub parts: Option<BTreeSet<u64>>,
    /// The places where something goes wrong.
    pub faults: Option<BTreeSet<FaultPlace>>,
}

impl SimScope {
    /// Whether something may go wrong here.
    pub fn allows(&self, place: &FaultPlace) -> bool {
        let faults = self.faults.as_ref();
        faults.is_none_or(|faults| faults.contains(place))
    }

    /// Whether this part of the workload runs.
    pub fn has_part(&self, number: u64) -> bool {
        let parts = self.parts.as_ref();
        parts.is_none_or(|parts| parts.contains(&number))
    }
}

impl fmt::Display for SimScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.nodes.map(|nodes| format!("nodes={nodes}"));
        let parts = self.parts.as_ref().map(|parts| list("parts", parts));
        let faults = self.faults.as_ref().map(|faults| list("faults", faults));
        let fields: Vec<String> = [nodes, parts, faults].into_iter().flatten().collect();
        f.write_str(&fields.join(" "))
    }
}

fn list<T: fmt::Display>(field: &str, items: &BTreeSet<T>) -> String {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    format!("{field}={}", items.join(","))
}

impl FromStr for SimScope {
    type Err = SimScopeError;

    fn from_str(text: &str) -> Result<Self, SimScopeError> {
        let mut scope = Self::default();
        for field in text.split_whitespace() {
            let wrong = || SimScopeError {
                field: field.to_owned(),
            };
            let (name, value) = field.split_once('=').ok_or_else(wrong)?;
            let items = value.split(',').filter(|item| !item.is_empty());
            match name {
                "nodes" => scope.nodes = Some(value.parse().map_err(|_| wrong())?),
                "parts" => {
                    let parts = items.map(str::parse).collect::<Result<_, _>>();
                    scope.parts = Some(parts.map_err(|_| wrong())?);
                }
                "faults" => scope.faults = Some(items.map(FaultPlace::new).collect()),
                _ => return Err(wrong()),
            }
        }
        Ok(scope)
    }
}

/// A text that is no scope.
///
/// ```
/// use durable_testkit::SimScope;
///
/// let error = "nodes=two".parse::<SimScope>().unwrap_err();
/// assert_eq!(error.field, "nodes=two");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimScopeError {
    /// The field that makes no sense.
    pub field: String,
}

impl fmt::Display for SimScopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no part of a scope such as `nodes=2 parts=3,8 faults=node-1.2/57`",
            self.field
        )
    }
}

impl std::error::Error for SimScopeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_again() {
        let scope = SimScope {
            nodes: Some(3),
            parts: Some([1, 12].into()),
            faults: Some([FaultPlace::new("node-1.2/57")].into()),
        };
        assert_eq!(scope.to_string().parse(), Ok(scope));
        assert_eq!("".parse(), Ok(SimScope::default()));
    }

    #[test]
    fn what_is_no_scope_is_refused_by_name() {
        for field in ["nodes=two", "parts=a", "speed=slow", "nodes"] {
            let error = field.parse::<SimScope>().unwrap_err();
            assert_eq!(error.field, field);
        }
    }
}
