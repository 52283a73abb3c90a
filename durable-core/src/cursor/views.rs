//! The views of an execution. Most have none, and thousands of executions wait in memory: no
//! views are a single word.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::text::{Name, Payload};

#[derive(Debug, Default)]
#[expect(clippy::box_collection, reason = "an empty one is to be small")]
pub(super) struct Views(Option<Box<BTreeMap<Name, Payload>>>);

impl Views {
    pub(super) fn of(carried: &[(Name, Payload)]) -> Self {
        let views = carried.iter().cloned();
        Self((!carried.is_empty()).then(|| Box::new(views.collect())))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Payload> {
        self.0.as_ref()?.get(name)
    }

    pub(super) fn publish(&mut self, name: &Name, value: &Payload) {
        let views = self.0.get_or_insert_default();
        views.insert(name.clone(), value.clone());
    }

    pub(super) fn clear(&mut self, name: &str) {
        if let Some(views) = &mut self.0 {
            views.remove(name);
            if views.is_empty() {
                self.0 = None;
            }
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().flat_map(|views| views.keys())
    }

    /// What the next execution begins with.
    pub(super) fn carried(&self) -> Vec<(Name, Payload)> {
        let views = self.0.iter().flat_map(|views| views.iter());
        views
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}
