//! Work in hand: what the holder of an instance runs itself.
//!
//! Such work has no row. The event that asked for it is its record, and the row of its
//! instance, which every turn writes anyway, says that it is open: a step that finishes
//! one activity and begins the next writes two entries and that row.
//!
//! - Only work that an event of its own turn repeats to the letter is kept like this,
//!   so that nothing of it is lost.
//! - It is held by whoever holds the instance. Before the instance leaves these hands,
//!   and before anything but a turn of the instance finishes, delays or cancels the
//!   work, it is laid down: it gets a row, in the same hands and under the same token.
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

/// How much work an instance keeps in hand. Every turn writes all of it again, so with
/// more of it rows are cheaper.
const MOST_IN_HAND: usize = 16;
/// In the place of the number of a call that has none.
const NO_NUMBER: u64 = u64::MAX;
/// An event, a token, a number and the length of a queue's name.
const FIXED_BYTES: usize = 28;

/// One work item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Open {
    event_id: EventId,
    token: u64,
    /// Which call of its execution it is.
    number: Option<u64>,
    /// The default queue has no name.
    queue: String,
}

/// The work in hand of an instance, oldest first.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Hand {
    open: Vec<Open>,
    /// What the row says cannot be read.
    is_damaged: bool,
}

impl Hand {
    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    pub(super) fn has_room(&self) -> bool {
        self.open.len() < MOST_IN_HAND
    }

    pub(super) fn take_up(&mut self, work: &ClaimedWork) {
        self.open.push(Open {
            event_id: work.item.key.event_id,
            token: work.lease.token,
            number: work.item.number,
            queue: queue_text(work.item.options.queue.as_ref()).to_owned(),
        });
    }

    /// Takes an item out, if it is in hand.
    fn remove(&mut self, event_id: EventId) -> Option<Open> {
        let at = self.open.iter().position(|open| open.event_id == event_id);
        at.map(|at| self.open.remove(at))
    }

    pub(super) fn is_of_queue(&self, queue: &str) -> bool {
        self.open.iter().any(|open| open.queue == queue)
    }

    /// As it stands in the row; nothing is none.
    pub(super) fn to_bytes(&self) -> Option<Vec<u8>> {
        if self.open.is_empty() {
            return None;
        }
        let mut bytes = Vec::with_capacity(self.open.len() * FIXED_BYTES);
        for open in &self.open {
            bytes.extend(open.event_id.get().to_le_bytes());
            bytes.extend(open.token.to_le_bytes());
            bytes.extend(open.number.unwrap_or(NO_NUMBER).to_le_bytes());
            // Names are far shorter than that: limits are checked before.
            let length = u32::try_from(open.queue.len()).unwrap_or(u32::MAX);
            bytes.extend(length.to_le_bytes());
            bytes.extend(open.queue.as_bytes());
        }
        Some(bytes)
    }

    pub(super) fn from_bytes(bytes: Option<&[u8]>) -> Self {
        let mut rest = bytes.unwrap_or_default();
        let mut hand = Self::default();
        while !rest.is_empty() {
            let Some((open, after)) = Open::split(rest) else {
                hand.is_damaged = true;
                return hand;
            };
            hand.open.push(open);
            rest = after;
        }
        hand
    }
}

impl Open {
    /// The first item of these bytes, and what follows it.
    fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (event_id, rest) = bytes.split_first_chunk()?;
        let (token, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let (queue, rest) = rest.split_at_checked(length)?;
        let number = u64::from_le_bytes(*number);
        let open = Self {
            event_id: EventId::new(u64::from_le_bytes(*event_id)),
            token: u64::from_le_bytes(*token),
            number: (number != NO_NUMBER).then_some(number),
            queue: str::from_utf8(queue).ok()?.to_owned(),
        };
        Some((open, rest))
    }
}

impl Store<'_, '_> {
    /// Takes finished work out of the instance's hand; answers whether it was there.
    pub(super) fn finish_in_hand(&self, instance: &mut Instance, finished: &WorkKey) -> bool {
        finished.execution_id == instance.execution_id
            && instance.hand.remove(finished.event_id).is_some()
    }

    /// Gives one item a row, if it is in hand. The hand is to be stored.
    pub(super) fn lay_down(&self, instance: &mut Instance, key: RowKey) -> Step<bool> {
        let Some(session) = instance.session else {
            return Ok(false);
        };
        if key.execution_id != instance.execution_id {
            return Ok(false);
        }
        match instance.hand.remove(key.event_id) {
            Some(open) => self.give_row(instance, session, &open).map(|()| true),
            None => Ok(false),
        }
    }

    /// Gives everything in hand a row. The hand is to be stored.
    pub(super) fn lay_down_all(&mut self, instance: &mut Instance) -> Step<()> {
        let Hand { open, is_damaged } = std::mem::take(&mut instance.hand);
        if let Some(session) = instance.session {
            for open in &open {
                self.give_row(instance, session, open)?;
            }
        }
        if is_damaged && !instance.status.is_ended() {
            let id = self.id_of(instance.key)?;
            let reason = unreadable_hand(&id).to_string();
            tracing::error!(instance = %id, %reason, "an instance is damaged and was suspended");
            let failure = Failure::new(FailureKind::CorruptHistory, reason).not_retryable();
            self.set_status(&id, instance, &InstanceStatus::Suspended { failure })?;
        }
        Ok(())
    }

    /// Gives the item of this key a row if it is in the hand of an instance, and
    /// stores that.
    pub(super) fn lay_down_stored(&mut self, key: RowKey) -> Step<()> {
        let Some(mut instance) = self.load(key.instance_key)? else {
            return Ok(());
        };
        if self.lay_down(&mut instance, key)? {
            self.save_hand(&instance)?;
        }
        Ok(())
    }

    pub(super) fn save_hand(&self, instance: &Instance) -> Step<()> {
        let hand = params![instance.key, instance.hand.to_bytes()];
        self.run(sql::INSTANCE_IN_HAND, hand)?;
        Ok(())
    }

    /// Whether a session has work of this queue in the hand of any instance.
    pub(super) fn has_in_hand(&self, session: SessionId, queue: &str) -> Step<bool> {
        let mut statement = self.statement(sql::INSTANCES_WITH_WORK)?;
        let mut rows = statement.query([holder(session)])?;
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(0)?.as_blob_or_null().unwrap_or_default();
            if Hand::from_bytes(bytes).is_of_queue(queue) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// If the event that asked for the work is damaged, so is the row: whoever is to
    /// get it finds out, and the instance is suspended.
    fn give_row(&self, instance: &Instance, session: SessionId, open: &Open) -> Step<()> {
        let key = RowKey {
            instance_key: instance.key,
            execution_id: instance.execution_id,
            event_id: open.event_id,
        };
        let item = match self.recorded_item(key, open.number) {
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
                open.queue,
                holder(session),
                int(open.token),
                int(since_ms),
                int(open.token),
                bytes.unwrap_or_default(),
            ],
        )?;
        Ok(())
    }

    /// A work item as the event that asked for it says.
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

/// What an instance holds open is not known.
pub(super) fn unreadable_hand(id: &InstanceId) -> ProviderError {
    ProviderError::Damaged {
        reason: format!("the work in hand of `{id}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(number: u64, queue: &str) -> Open {
        Open {
            event_id: EventId::new(number + 1),
            token: u64::MAX,
            number: (number > 0).then_some(number),
            queue: queue.into(),
        }
    }

    #[test]
    fn a_hand_survives() {
        assert_eq!(Hand::default().to_bytes(), None);
        assert_eq!(Hand::from_bytes(None), Hand::default());
        let hand = Hand {
            open: vec![open(0, ""), open(1, "gpu"), open(2, "ä")],
            is_damaged: false,
        };
        let bytes = hand.to_bytes().unwrap();
        assert_eq!(Hand::from_bytes(Some(&bytes)), hand);
        assert!(hand.is_of_queue("gpu") && !hand.is_of_queue("cpu"));
    }

    #[test]
    fn bytes_that_are_cut_short_or_no_text_are_damaged() {
        let hand = Hand {
            open: vec![open(1, "gpu")],
            is_damaged: false,
        };
        let whole = hand.to_bytes().unwrap();
        for length in 1..whole.len() {
            assert!(Hand::from_bytes(whole.get(..length)).is_damaged, "{length}");
        }
        let mut no_text = whole;
        *no_text.last_mut().unwrap() = 0xff;
        assert!(Hand::from_bytes(Some(&no_text)).is_damaged);
    }
}
