//! A map of mostly one or two entries, which takes no more room than they need.
//!
//! A node of a `BTreeMap` has room for eleven entries, and thousands of executions wait
//! in memory with a single one. So a few entries stand in a sorted list of their own
//! length; many are in a tree, so that nothing is slow however many there are.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::borrow::Borrow;

/// A map that is small while it has few entries.
#[derive(Debug)]
pub(super) enum SmallMap<K, V> {
    /// Ascending by key.
    Few(Vec<(K, V)>),
    Many(BTreeMap<K, V>),
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl<K: Ord, V> SmallMap<K, V> {
    /// So many entries are few.
    const FEW: usize = 8;

    pub(super) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        match self {
            Self::Few(entries) => Some(&entries[index_of(entries, key).ok()?].1),
            Self::Many(entries) => entries.get(key),
        }
    }

    pub(super) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        match self {
            Self::Few(entries) => {
                let at = index_of(entries, key).ok()?;
                Some(&mut entries[at].1)
            }
            Self::Many(entries) => entries.get_mut(key),
        }
    }

    /// The value of this key, which is there from now on.
    pub(super) fn get_or_default(&mut self, key: &K) -> &mut V
    where
        K: Clone,
        V: Default,
    {
        self.make_room(key);
        match self {
            Self::Few(entries) => {
                let at = index_of(entries, key).unwrap_or_else(|at| {
                    entries.insert(at, (key.clone(), V::default()));
                    at
                });
                &mut entries[at].1
            }
            Self::Many(entries) => entries.entry(key.clone()).or_default(),
        }
    }

    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        match self {
            Self::Few(entries) => {
                if let Ok(at) = index_of(entries, key) {
                    entries.remove(at);
                }
            }
            Self::Many(entries) => {
                entries.remove(key);
                if entries.is_empty() {
                    *self = Self::default();
                }
            }
        }
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        let (few, many) = match self {
            Self::Few(entries) => (Some(entries.iter().map(|(_, value)| value)), None),
            Self::Many(entries) => (None, Some(entries.values())),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten())
    }

    /// Room for one more: for it alone if it is the first.
    fn make_room(&mut self, key: &K) {
        let Self::Few(entries) = self else {
            return;
        };
        if entries.capacity() == 0 {
            entries.reserve_exact(1);
        }
        if entries.len() >= Self::FEW && index_of(entries, key).is_err() {
            *self = Self::Many(core::mem::take(entries).into_iter().collect());
        }
    }
}

/// Where the entry of this key is, or would be.
fn index_of<K, V, Q>(entries: &[(K, V)], key: &Q) -> Result<usize, usize>
where
    K: Borrow<Q>,
    Q: Ord + ?Sized,
{
    entries.binary_search_by(|(other, _)| other.borrow().cmp(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds and removes keys in an order of its own; the same in a tree.
    #[test]
    fn it_is_a_map_however_many_there_are() {
        for count in [1, 2, 8, 9, 100_u64] {
            let mut map = SmallMap::<u64, u64>::default();
            let mut tree = BTreeMap::new();
            for key in (0..count).map(|n| n * 7 % count) {
                *map.get_or_default(&key) += key + 1;
                tree.insert(key, key + 1);
                assert!(map.values().eq(tree.values()));
            }
            assert_eq!(map.get_mut(&count), None);
            for key in (0..count).map(|n| n * 3 % count) {
                assert_eq!(map.get_mut(&key), tree.get_mut(&key));
                map.remove(&key);
                tree.remove(&key);
                assert!(map.values().eq(tree.values()));
            }
        }
    }

    #[test]
    fn one_entry_takes_the_room_of_one() {
        let mut map = SmallMap::<u64, u64>::default();
        map.get_or_default(&1);
        assert!(matches!(&map, SmallMap::Few(entries) if entries.capacity() == 1));
    }

    #[test]
    fn many_that_went_leave_nothing() {
        let mut map = SmallMap::<u64, u64>::default();
        for key in 0..100 {
            map.get_or_default(&key);
        }
        assert!(matches!(map, SmallMap::Many(_)));
        for key in 0..100 {
            map.remove(&key);
        }
        assert!(matches!(&map, SmallMap::Few(entries) if entries.capacity() == 0));
    }
}
