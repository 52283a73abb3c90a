//! Inline work: activities that the holder of an instance runs itself.
//!
//! Inline work has no row of its own. The event that scheduled it is its record, and the row
//! of its instance, which every turn writes anyway, says that it is open: a step that
//! finishes one activity and begins the next writes two entries and that row.
//!
//! - The session that holds the lease of the instance holds its inline work. Before the
//!   lease ends, and before anything but a turn of the instance finishes, delays or cancels
//!   the work, the work is spilled to a row, held by the same session under the same token.
//! - It belongs to the current execution of its instance.

use durable_core::provider::{ClaimedWork, ProviderError, SessionId, SourceEvent};
use durable_core::{EventId, InstanceId};
use rusqlite::params;

use super::catalog::LaneNumber;
use super::instance::{Instance, ReadySince};
use super::work::{NewRow, RowKey};
use super::{Store, holder};
use crate::error::Step;
use crate::sql;

/// How many items an instance keeps inline. Every turn writes all of them again, so rows
/// are cheaper for more of them.
const MAX_INLINE_ITEMS: usize = 16;
/// An event, a token, a number and a lane.
const ITEM_BYTES: usize = 32;

/// One item of inline work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InlineItem {
    event_id: EventId,
    token: u64,
    /// Which activity call of its execution it is.
    number: u64,
    lane: LaneNumber,
}

/// The inline work of an instance, oldest first.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct InlineWork {
    items: Vec<InlineItem>,
    /// What the row says cannot be read.
    is_damaged: bool,
}

impl InlineWork {
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    pub(super) fn has_room(&self) -> bool {
        self.items.len() < MAX_INLINE_ITEMS
    }

    pub(super) fn push(&mut self, work: &ClaimedWork, lane: LaneNumber) {
        self.items.push(InlineItem {
            event_id: work.item.key.event_id,
            token: work.lease.token,
            number: work.item.number,
            lane,
        });
    }

    /// The scheduling events of its calls, and which activity call of its execution each is.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (EventId, u64)> {
        self.items.iter().map(|item| (item.event_id, item.number))
    }

    /// Takes an item out, if it is inline.
    fn remove(&mut self, event_id: EventId) -> Option<InlineItem> {
        let at = self.items.iter().position(|item| item.event_id == event_id);
        at.map(|at| self.items.remove(at))
    }

    /// Whether there is work of one of these lanes.
    fn is_of_lanes(&self, lanes: &[LaneNumber]) -> bool {
        self.items.iter().any(|item| lanes.contains(&item.lane))
    }

    /// As it stands in the row; nothing is none.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        if self.items.is_empty() {
            return None;
        }
        let mut bytes = Vec::with_capacity(self.items.len() * ITEM_BYTES);
        for item in &self.items {
            bytes.extend(item.event_id.get().to_le_bytes());
            bytes.extend(item.token.to_le_bytes());
            bytes.extend(item.number.to_le_bytes());
            bytes.extend(item.lane.0.to_le_bytes());
        }
        Some(bytes)
    }

    pub(crate) fn from_bytes(bytes: Option<&[u8]>) -> Self {
        let mut rest = bytes.unwrap_or_default();
        let mut inline = Self::default();
        while !rest.is_empty() {
            let Some((item, after)) = InlineItem::split(rest) else {
                inline.is_damaged = true;
                return inline;
            };
            inline.items.push(item);
            rest = after;
        }
        inline
    }
}

impl InlineItem {
    /// The first item of these bytes, and what follows it.
    fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (event_id, rest) = bytes.split_first_chunk()?;
        let (token, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (lane, rest) = rest.split_first_chunk()?;
        let item = Self {
            event_id: EventId::new(u64::from_le_bytes(*event_id)),
            token: u64::from_le_bytes(*token),
            number: u64::from_le_bytes(*number),
            lane: LaneNumber(i64::from_le_bytes(*lane)),
        };
        Some((item, rest))
    }
}

impl Store<'_, '_> {
    /// Takes finished work out of the instance's inline work; answers whether it was there.
    pub(super) fn finish_inline(&self, instance: &mut Instance, finished: SourceEvent) -> bool {
        finished.execution_id == instance.execution_id
            && instance.inline.remove(finished.event_id).is_some()
    }

    /// Spills one item to a row, if it is inline. The caller stores what is left inline.
    pub(super) fn spill_to_row(&self, instance: &mut Instance, key: RowKey) -> Step<bool> {
        let Some(session) = instance.session else {
            return Ok(false);
        };
        if key.source.execution_id != instance.execution_id {
            return Ok(false);
        }
        match instance.inline.remove(key.source.event_id) {
            Some(item) => self.insert_row(instance, session, &item).map(|()| true),
            None => Ok(false),
        }
    }

    /// Spills all inline work to rows. The caller stores that nothing is left inline.
    pub(super) fn spill_all_to_rows(&mut self, instance: &mut Instance) -> Step<()> {
        let InlineWork { items, is_damaged } = std::mem::take(&mut instance.inline);
        if let Some(session) = instance.session {
            for item in &items {
                self.insert_row(instance, session, item)?;
            }
        }
        if is_damaged && !instance.status.is_ended() {
            let id = self.id_of(instance.key)?;
            let reason = unreadable_inline_work(&id).to_string();
            self.mark_damaged(&id, instance, reason)?;
        }
        Ok(())
    }

    /// Spills the item of this key to a row, if it is inline, and stores what is left.
    pub(super) fn spill_stored_to_row(&mut self, key: RowKey) -> Step<()> {
        let Some(mut instance) = self.load(key.instance_key)? else {
            return Ok(());
        };
        if self.spill_to_row(&mut instance, key)? {
            self.save_inline_work(&instance)?;
        }
        Ok(())
    }

    pub(super) fn save_inline_work(&self, instance: &Instance) -> Step<()> {
        let inline = params![instance.key, instance.inline.to_bytes()];
        self.run(sql::INSTANCE_INLINE_WORK, inline)?;
        Ok(())
    }

    /// Whether a session holds inline work of one of these lanes.
    pub(super) fn has_inline_work(&self, session: SessionId, lanes: &[LaneNumber]) -> Step<bool> {
        let mut statement = self.statement(sql::INSTANCES_WITH_WORK)?;
        let mut rows = statement.query([holder(session)])?;
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(0)?.as_blob_or_null().unwrap_or_default();
            if InlineWork::from_bytes(bytes).is_of_lanes(lanes) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn insert_row(&self, instance: &Instance, session: SessionId, inline: &InlineItem) -> Step<()> {
        let source = SourceEvent::new(instance.execution_id, inline.event_id);
        self.insert_work(&NewRow {
            key: RowKey::new(instance.key, source),
            number: inline.number,
            lane: inline.lane,
            holder: holder(session),
            token: inline.token,
            since: ReadySince {
                at_ms: self.state.now_ms,
                number: inline.token,
            },
        })
    }
}

/// It is not known which inline work of an instance is open.
pub(crate) fn unreadable_inline_work(id: &InstanceId) -> ProviderError {
    ProviderError::Damaged {
        reason: format!("the inline work of `{id}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(number: u64, lane: i64) -> InlineItem {
        InlineItem {
            event_id: EventId::new(number + 1),
            token: u64::MAX,
            number,
            lane: LaneNumber(lane),
        }
    }

    #[test]
    fn inline_work_survives_encoding() {
        assert_eq!(InlineWork::default().to_bytes(), None);
        assert_eq!(InlineWork::from_bytes(None), InlineWork::default());
        let inline = InlineWork {
            items: vec![item(0, 1), item(1, 2), item(2, i64::MAX)],
            is_damaged: false,
        };
        let bytes = inline.to_bytes().unwrap();
        assert_eq!(InlineWork::from_bytes(Some(&bytes)), inline);
        assert!(inline.is_of_lanes(&[LaneNumber(7), LaneNumber(2)]));
        assert!(!inline.is_of_lanes(&[LaneNumber(7)]));
    }

    #[test]
    fn bytes_that_are_cut_short_are_damaged() {
        let inline = InlineWork {
            items: vec![item(1, 2)],
            is_damaged: false,
        };
        let whole = inline.to_bytes().unwrap();
        for length in 1..whole.len() {
            assert!(
                InlineWork::from_bytes(whole.get(..length)).is_damaged,
                "{length}"
            );
        }
    }
}
