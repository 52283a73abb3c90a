//! What the events of a turn create, of which some is withdrawn before the commit.

use durable_core::provider::SourceEvent;

/// Things that events of a turn created, in the order of the events.
#[derive(Debug)]
pub(super) struct Created<T>(Vec<(SourceEvent, Option<T>)>);

impl<T> Created<T> {
    /// Nothing was created.
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    pub(super) fn create(&mut self, origin: SourceEvent, thing: T) {
        debug_assert!(self.0.last().is_none_or(|(last, _)| *last < origin));
        self.0.push((origin, Some(thing)));
    }

    /// Takes a thing back; no if this turn did not create it.
    pub(super) fn withdraw(&mut self, origin: SourceEvent) -> bool {
        let found = self.0.binary_search_by_key(&origin, |(origin, _)| *origin);
        found.is_ok_and(|at| self.0[at].1.take().is_some())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().filter_map(|(_, thing)| thing.as_ref())
    }

    pub(super) fn into_vec<U>(self, convert: impl FnMut(T) -> U) -> Vec<U> {
        let things = self.0.into_iter().filter_map(|(_, thing)| thing);
        things.map(convert).collect()
    }
}

#[cfg(test)]
mod tests {
    use durable_core::{EventId, ExecutionId};

    use super::*;

    fn origin(execution: u64, event: u64) -> SourceEvent {
        SourceEvent::new(ExecutionId::new(execution), EventId::new(event))
    }

    #[test]
    fn what_is_withdrawn_is_gone_and_the_rest_keeps_its_order() {
        let mut created = Created::none();
        for (execution, event) in [(1, 3), (1, 7), (2, 2)] {
            created.create(origin(execution, event), (execution, event));
        }
        assert!(created.withdraw(origin(1, 7)));
        assert!(!created.withdraw(origin(1, 7)), "it is gone");
        assert!(!created.withdraw(origin(1, 2)), "it never was there");
        assert_eq!(created.iter().collect::<Vec<_>>(), [&(1, 3), &(2, 2)]);
        assert_eq!(created.into_vec(|thing| thing), [(1, 3), (2, 2)]);
    }
}
