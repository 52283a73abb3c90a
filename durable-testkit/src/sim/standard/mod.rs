//! A workload that uses everything orchestrations can do: fan-out, timers, events,
//! children, sagas, continue-as-new, recorded side effects, promises, detached
//! starts; suspended, cancelled and terminated on the way.

mod code;
mod drive;

use super::workload::{Effects, Workload};
use durable_runtime::RegistryError;

impl Workload {
    /// Instances of every kind, drawn from the seed.
    pub fn standard() -> Result<Self, RegistryError> {
        let effects = Effects::default();
        let registry = code::registry(&effects)?;
        Ok(Self::new(registry, drive::drive).effects(&effects))
    }
}
