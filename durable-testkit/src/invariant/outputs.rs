//! Instances return what the workload expects of them.

use durable_core::provider::InstanceStatus;

use super::{Breach, Invariant};
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

    fn end(&mut self, snapshot: &Snapshot) -> Result<(), Breach> {
        for (id, expected) in self.expectations.all() {
            let status = snapshot
                .instances
                .get(&id)
                .map(|found| &found.record.status);
            let is_expected = match status {
                Some(InstanceStatus::Completed { output }) => expected.contains(output),
                _ => false,
            };
            if !is_expected {
                return Err(Breach::of(
                    &id,
                    format!("expected one of {expected:?}, found {status:?}"),
                ));
            }
        }
        Ok(())
    }
}
