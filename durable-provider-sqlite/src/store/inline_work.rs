//! Inline work: activities that the holder of an instance runs itself.
//!
//! Inline work has no row of its own. The event that scheduled it is its record, and the row
//! of its instance, which every turn writes anyway, says that it is open: a step that
//! finishes one activity and begins the next writes two entries and that row.
//!
//! - Only work that an event of its own turn repeats to the letter is kept inline, so that
//!   nothing of it is lost.
//! - The session that holds the lease of the instance holds its inline work. Before the
//!   lease ends, and before anything but a turn of the instance finishes, delays or cancels
//!   the work, the work is spilled to a row, held by the same session under the same token.
//! - It belongs to the current execution of its instance.

use durable_core::provider::{
    ClaimedWork, InstanceStatus, ProviderError, SessionId, WorkItem, WorkKey,
};
use durable_core::{Event, EventId, Failure, FailureKind, InstanceId, decode_entry};
use rusqlite::{OptionalExtension, params};

use super::instance::Instance;
use super::work::{RowKey, queue_text};
use super::{Store, holder};
use crate::codec::item_bytes;
use crate::error::{Fault, Step, damaged};
use crate::number::int;
use crate::sql;

/// How many items an instance keeps inline. Every turn writes all of them again, so rows
/// are cheaper for more of them.
const MAX_INLINE_ITEMS: usize = 16;
/// In the place of the number of a call that has none.
const NO_NUMBER: u64 = u64::MAX;
/// An event, a token, a number and the length of a queue's name.
const FIXED_BYTES: usize = 28;

/// One item of inline work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InlineItem {
    event_id: EventId,
    token: u64,
    /// Which call of its execution it is.
    number: Option<u64>,
    /// The default queue has no name.
    queue: String,
}

/// The inline work of an instance, oldest first.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct InlineWork {
    items: Vec<InlineItem>,
    /// What the row says cannot be read.
    is_damaged: bool,
}

impl InlineWork {
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    pub(super) fn has_room(&self) -> bool {
        self.items.len() < MAX_INLINE_ITEMS
    }

    pub(super) fn push(&mut self, work: &ClaimedWork) {
        self.items.push(InlineItem {
            event_id: work.item.key.event_id,
            token: work.lease.token,
            number: work.item.number,
            queue: queue_text(work.item.options.queue.as_ref()).to_owned(),
        });
    }

    /// Takes an item out, if it is inline.
    fn remove(&mut self, event_id: EventId) -> Option<InlineItem> {
        let at = self.items.iter().position(|item| item.event_id == event_id);
        at.map(|at| self.items.remove(at))
    }

    pub(super) fn is_of_queue(&self, queue: &str) -> bool {
        self.items.iter().any(|item| item.queue == queue)
    }

    /// As it stands in the row; nothing is none.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        if self.items.is_empty() {
            return None;
        }
        let mut bytes = Vec::with_capacity(self.items.len() * FIXED_BYTES);
        for item in &self.items {
            bytes.extend(item.event_id.get().to_le_bytes());
            bytes.extend(item.token.to_le_bytes());
            bytes.extend(item.number.unwrap_or(NO_NUMBER).to_le_bytes());
            // Names are far shorter than that: limits are checked before.
            let length = u32::try_from(item.queue.len()).unwrap_or(u32::MAX);
            bytes.extend(length.to_le_bytes());
            bytes.extend(item.queue.as_bytes());
        }
        Some(bytes)
    }

    pub(super) fn from_bytes(bytes: Option<&[u8]>) -> Self {
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
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (queue, rest) = rest.split_at_checked(length)?;
        let number = u64::from_le_bytes(*number);
        let item = Self {
            event_id: EventId::new(u64::from_le_bytes(*event_id)),
            token: u64::from_le_bytes(*token),
            number: (number != NO_NUMBER).then_some(number),
            queue: str::from_utf8(queue).ok()?.to_owned(),
        };
        Some((item, rest))
    }
}

impl Store<'_, '_> {
    /// Takes finished work out of the instance's inline work; answers whether it was there.
    pub(super) fn finish_inline(&self, instance: &mut Instance, finished: &WorkKey) -> bool {
        finished.execution_id == instance.execution_id
            && instance.inline.remove(finished.event_id).is_some()
    }

    /// Spills one item to a row, if it is inline. The caller stores what is left inline.
    pub(super) fn spill_to_row(&self, instance: &mut Instance, key: RowKey) -> Step<bool> {
        let Some(session) = instance.session else {
            return Ok(false);
        };
        if key.execution_id != instance.execution_id {
            return Ok(false);
        }
        match instance.inline.remove(key.event_id) {
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
            tracing::error!(instance = %id, %reason, "an instance is damaged and was suspended");
            let failure = Failure::new(FailureKind::CorruptHistory, reason).not_retryable();
            self.set_status(&id, instance, &InstanceStatus::Suspended { failure })?;
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

    /// Whether a session holds inline work of this queue.
    pub(super) fn has_inline_work(&self, session: SessionId, queue: &str) -> Step<bool> {
        let mut statement = self.statement(sql::INSTANCES_WITH_WORK)?;
        let mut rows = statement.query([holder(session)])?;
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(0)?.as_blob_or_null().unwrap_or_default();
            if InlineWork::from_bytes(bytes).is_of_queue(queue) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// If the event that scheduled the work is damaged, so is the row: the next claim finds
    /// out, and the instance is suspended.
    fn insert_row(&self, instance: &Instance, session: SessionId, inline: &InlineItem) -> Step<()> {
        let key = RowKey {
            instance_key: instance.key,
            execution_id: instance.execution_id,
            event_id: inline.event_id,
        };
        let item = match self.recorded_item(key, inline.number) {
            Ok(item) => item,
            Err(Fault::Refused(ProviderError::Damaged { .. })) => None,
            Err(fault) => return Err(fault),
        };
        let since_ms = item.as_ref().map_or(0, |item| item.scheduled_at_ms);
        let bytes = item.as_ref().map(item_bytes).transpose()?;
        let [instance_key, execution_id, event_id] = key.parameters();
        self.run(
            sql::WORK_INSERT,
            params![
                instance_key,
                execution_id,
                event_id,
                inline.queue,
                holder(session),
                int(inline.token),
                int(since_ms),
                int(inline.token),
                bytes.unwrap_or_default(),
            ],
        )?;
        Ok(())
    }

    /// A work item as the event that scheduled it says.
    pub(super) fn recorded_item(&self, key: RowKey, number: Option<u64>) -> Step<Option<WorkItem>> {
        let mut statement = self.statement(sql::HISTORY_ENTRY)?;
        let bytes: Option<Vec<u8>> = statement
            .query_row(key.parameters(), |row| row.get(0))
            .optional()?;
        let Some(bytes) = bytes else {
            return Ok(None);
        };
        let instance = self.id_of(key.instance_key)?;
        let (execution_id, event_id) = (key.execution_id, key.event_id);
        let what = format_args!("`{instance}`, execution {execution_id}, event {event_id}");
        let entry = decode_entry(&bytes).map_err(|error| damaged(what, &error))?;
        let Event::ActivityScheduled {
            name,
            input,
            options,
            ..
        } = entry.event
        else {
            return Ok(None);
        };
        Ok(Some(WorkItem {
            key: WorkKey {
                instance,
                execution_id,
                event_id,
            },
            number,
            name,
            input,
            options,
            scheduled_at_ms: entry.recorded_at_ms,
        }))
    }
}

/// It is not known which inline work of an instance is open.
pub(super) fn unreadable_inline_work(id: &InstanceId) -> ProviderError {
    ProviderError::Damaged {
        reason: format!("the inline work of `{id}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(number: u64, queue: &str) -> InlineItem {
        InlineItem {
            event_id: EventId::new(number + 1),
            token: u64::MAX,
            number: (number > 0).then_some(number),
            queue: queue.into(),
        }
    }

    #[test]
    fn inline_work_survives_encoding() {
        assert_eq!(InlineWork::default().to_bytes(), None);
        assert_eq!(InlineWork::from_bytes(None), InlineWork::default());
        let inline = InlineWork {
            items: vec![item(0, ""), item(1, "gpu"), item(2, "ä")],
            is_damaged: false,
        };
        let bytes = inline.to_bytes().unwrap();
        assert_eq!(InlineWork::from_bytes(Some(&bytes)), inline);
        assert!(inline.is_of_queue("gpu") && !inline.is_of_queue("cpu"));
    }

    #[test]
    fn bytes_that_are_cut_short_or_no_text_are_damaged() {
        let inline = InlineWork {
            items: vec![item(1, "gpu")],
            is_damaged: false,
        };
        let whole = inline.to_bytes().unwrap();
        for length in 1..whole.len() {
            assert!(
                InlineWork::from_bytes(whole.get(..length)).is_damaged,
                "{length}"
            );
        }
        let mut no_text = whole;
        *no_text.last_mut().unwrap() = 0xff;
        assert!(InlineWork::from_bytes(Some(&no_text)).is_damaged);
    }
}
