//! The line that a contender prints: what it measured, and what of.
//!
//! Memory is not in it: that is read from outside.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What one run of one workload measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The workload as on the command line, such as `chain 1000 5`.
    pub workload: String,
    /// What was measured, by name; the unit is the end of the name.
    pub values: BTreeMap<String, f64>,
}

impl Measured {
    /// The measurements of a workload.
    pub fn new<const N: usize>(workload: impl Into<String>, values: [(&str, f64); N]) -> Self {
        let values = values.map(|(name, value)| (name.to_owned(), value));
        Self {
            workload: workload.into(),
            values: values.into(),
        }
    }
}
