//! A workload that uses everything orchestrations can do: fan-out, timers, events,
//! children, sagas, continue-as-new, recorded side effects, promises, detached
//! starts; suspended, cancelled, terminated, purged and started again on the way, by
//! nodes that differ in their code and their duties.

mod code;
mod drive;
mod drive_requests;
mod drive_uneven;
mod nodes;
mod uneven;

use super::workload::{Effects, Workload};
use durable_runtime::RegistryError;

impl Workload {
    /// Instances of every kind, drawn from the seed.
    ///
    /// # Errors
    ///
    /// The code of the workload could not be registered: a defect of this crate.
    pub fn standard() -> Result<Self, RegistryError> {
        let effects = Effects::default();
        let mended = uneven::Mended::default();
        let parts = nodes::NodeParts::new(&effects, &mended)?;
        let newest = parts.newest().clone();
        let workload = Self::new(newest, |client| drive::drive(client, mended))
            .on_nodes(nodes::LEAST, move |node| parts.of(node));
        Ok(workload.effects(&effects))
    }
}
