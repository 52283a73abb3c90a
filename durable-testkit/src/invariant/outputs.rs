//! Instances come to the ends that the workload expects of them.

use super::{Invariant, InvariantViolation};
use crate::memory::Snapshot;
use crate::sim::Expectations;

#[derive(Debug)]
pub(super) struct Outputs {
    expectations: Expectations,
}

impl Outputs {
    pub(super) fn new(expectations: Expectations) -> Self {
        Self { expectations }
    }
}

impl Invariant for Outputs {
    fn name(&self) -> &'static str {
        "outputs_are_as_expected"
    }

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), InvariantViolation> {
        for (id, expected) in self.expectations.all() {
            let found = snapshot.instances.get(&id);
            let status = found.map(|found| &found.record.status);
            let is_expected =
                status.is_some_and(|status| expected.iter().any(|end| end.is_met(status)));
            if !is_expected {
                let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
                return Err(InvariantViolation::of(
                    &id,
                    format!("expected {}, found {status:?}", expected.join(" or ")),
                ));
            }
        }
        Ok(())
    }
}
