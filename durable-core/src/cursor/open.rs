//! Where the operation is that an event scheduled.
//!
//! Operations that are opened together have events and slots that follow one
//! another, so the table keeps ranges: a join of thousands is one row. It does not
//! know which operations of a range are still open, only how many: the slot itself
//! says whether it is the one.

use alloc::vec::Vec;

use crate::id::EventId;

/// The slots of open operations by scheduling event.
#[derive(Debug, Default)]
pub(super) struct OpenTable {
    /// Ascending by event. Ranges of which nothing is open are swept away when
    /// they are most of the table.
    ranges: Vec<Range>,
    /// How many ranges have something open.
    ranges_open: usize,
    len: usize,
}

/// Operations whose events and slots follow one another.
#[derive(Debug)]
struct Range {
    first_event: u64,
    first_slot: usize,
    len: usize,
    open: usize,
}

impl OpenTable {
    /// Tables up to this length are not swept.
    const SMALL: usize = 32;

    /// Adds the operation that this event scheduled: the latest event of all.
    pub(super) fn insert(&mut self, event_id: EventId, slot: usize) {
        self.len += 1;
        if let Some(last) = self.ranges.last_mut() {
            let next_event = last.first_event + last.len as u64;
            debug_assert!(event_id.get() >= next_event);
            if event_id.get() == next_event && slot == last.first_slot + last.len {
                self.ranges_open += usize::from(last.open == 0);
                last.len += 1;
                last.open += 1;
                return;
            }
        }
        self.ranges_open += 1;
        self.ranges.push(Range {
            first_event: event_id.get(),
            first_slot: slot,
            len: 1,
            open: 1,
        });
    }

    /// Gives back the memory of ranges that are gone.
    pub(super) fn shrink_to_fit(&mut self) {
        self.ranges.shrink_to_fit();
    }

    /// The slot in which the operation of this event is, if it is still open.
    pub(super) fn slot_of(&self, event_id: EventId) -> Option<usize> {
        let range = &self.ranges[self.row_of(event_id)?];
        let distance = event_id.get() - range.first_event;
        Some(range.first_slot + usize::try_from(distance).ok()?)
    }

    /// One operation that was open is so no longer.
    pub(super) fn remove(&mut self, event_id: EventId) {
        let Some(row) = self.row_of(event_id) else {
            return;
        };
        let range = &mut self.ranges[row];
        range.open -= 1;
        self.ranges_open -= usize::from(range.open == 0);
        self.len -= 1;
        self.sweep();
    }

    /// The events and slots of all ranges, in the order of the events.
    pub(super) fn iter(&self) -> impl Iterator<Item = (EventId, usize)> {
        self.ranges.iter().flat_map(|range| {
            (0..range.len).map(|n| {
                let event_id = EventId::new(range.first_event + n as u64);
                (event_id, range.first_slot + n)
            })
        })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn row_of(&self, event_id: EventId) -> Option<usize> {
        let after = self
            .ranges
            .partition_point(|range| range.first_event <= event_id.get());
        let row = after.checked_sub(1)?;
        let range = &self.ranges[row];
        let is_within = event_id.get() - range.first_event < range.len as u64;
        (is_within && range.open > 0).then_some(row)
    }

    fn sweep(&mut self) {
        if self.ranges_open == 0 {
            self.ranges.clear();
            self.ranges.shrink_to(Self::SMALL);
        } else if self.ranges.len() > Self::SMALL && self.ranges_open * 4 <= self.ranges.len() {
            self.ranges.retain(|range| range.open > 0);
            self.ranges.shrink_to(self.ranges.len() * 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Blocks of three operations with a gap after each.
    fn thousand() -> (OpenTable, Vec<(EventId, usize)>) {
        let rows: Vec<_> = (0..1_000_usize)
            .map(|n| (EventId::new((2 + n / 3 * 5 + n % 3) as u64), n))
            .collect();
        let mut table = OpenTable::default();
        for (event_id, slot) in &rows {
            table.insert(*event_id, *slot);
        }
        (table, rows)
    }

    #[test]
    fn every_operation_is_found_and_nothing_else() {
        let (table, rows) = thousand();
        assert_eq!(table.len(), rows.len());
        assert_eq!(table.iter().collect::<Vec<_>>(), rows);
        for (event_id, slot) in &rows {
            assert_eq!(table.slot_of(*event_id), Some(*slot));
        }
        for unknown in [0, 1, 5, 6, 1_666, u64::MAX] {
            assert_eq!(table.slot_of(EventId::new(unknown)), None);
        }
        assert_eq!(OpenTable::default().slot_of(EventId::new(2)), None);
    }

    #[test]
    fn operations_that_follow_one_another_are_one_row() {
        let mut table = OpenTable::default();
        for n in 0..10 {
            table.insert(EventId::new(2 + n), 7 + n as usize);
        }
        // Another slot, and another event.
        table.insert(EventId::new(12), 3);
        table.insert(EventId::new(14), 4);
        assert_eq!(table.ranges.len(), 3);
        assert_eq!(table.slot_of(EventId::new(11)), Some(16));
        assert_eq!(table.slot_of(EventId::new(12)), Some(3));
        assert_eq!(table.slot_of(EventId::new(13)), None);
        assert_eq!(table.slot_of(EventId::new(14)), Some(4));
    }

    #[test]
    fn memory_follows_what_is_open() {
        let (mut table, rows) = thousand();
        // Every other, then the rest backwards.
        let (first, rest): (Vec<_>, Vec<_>) = rows.iter().partition(|(_, n)| n % 2 == 0);
        for (left, (event_id, _)) in first.iter().chain(rest.iter().rev()).enumerate() {
            table.remove(*event_id);
            assert_eq!(table.len(), rows.len() - left - 1);
            let open = table.ranges.iter().filter(|range| range.open > 0).count();
            assert_eq!(open, table.ranges_open);
            assert!(table.ranges.len() <= OpenTable::SMALL.max(4 * open));
        }
        assert!(table.ranges.capacity() <= 2 * OpenTable::SMALL);
    }
}
