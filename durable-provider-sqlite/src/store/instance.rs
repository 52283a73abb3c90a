//! The row of an instance: who holds it, whether it is ready, and its inbox.

use durable_core::provider::{Change, CommitId, Lease, SessionId, StatusKind};
use durable_core::{EventId, ExecutionId, InstanceId, MessageId};
use rusqlite::{OptionalExtension, Row, params};

use super::catalog::CodeNumber;
use super::inline_work::InlineWork;
use super::{Store, holder};
use crate::codec::{status_kind, status_number};
use crate::error::Step;
use crate::number::{count, int, uint};
use crate::sql;
use crate::turn::{Hurry, OutgoingBytes, StartRequest};

/// The place of something among all that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReadySince {
    pub(super) at_ms: u64,
    pub(super) number: u64,
}

/// An instance as its row says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Instance {
    pub(super) key: i64,
    pub(super) execution_id: ExecutionId,
    pub(super) last_event_id: EventId,
    pub(super) status: StatusKind,
    pub(super) updated_at_ms: u64,
    pub(super) last_commit_id: Option<CommitId>,
    pub(super) session: Option<SessionId>,
    /// The code that a session needs to claim it.
    pub(super) code: CodeNumber,
    /// The token of the last lease.
    pub(super) token: u64,
    /// Messages up to here were given to the holder.
    pub(super) given_seq: u64,
    pub(super) ready: Option<ReadySince>,
    pub(super) not_before_ms: u64,
    pub(super) must_run: bool,
    pub(super) is_blocked: bool,
    pub(super) crashes: u32,
    /// The work that the holder runs without a row. Without a holder it is empty.
    pub(super) inline: InlineWork,
}

impl Instance {
    fn from_row(key: i64, row: &Row<'_>) -> rusqlite::Result<Self> {
        let status: i64 = row.get(2)?;
        let commit_id: Option<[u8; 16]> = row.get(4)?;
        let holder: i64 = row.get(5)?;
        let ready_at_ms: Option<i64> = row.get(8)?;
        let ready_number: Option<i64> = row.get(9)?;
        Ok(Self {
            key,
            execution_id: ExecutionId::new(uint(row.get(0)?)),
            last_event_id: EventId::new(uint(row.get(1)?)),
            status: status_kind(status)
                .ok_or(rusqlite::Error::IntegralValueOutOfRange(2, status))?,
            updated_at_ms: uint(row.get(3)?),
            last_commit_id: commit_id.map(|bytes| CommitId(u128::from_be_bytes(bytes))),
            session: (holder > 0).then(|| SessionId(uint(holder))),
            code: CodeNumber(row.get(15)?),
            token: uint(row.get(6)?),
            given_seq: uint(row.get(7)?),
            ready: ready_at_ms
                .zip(ready_number)
                .map(|(at_ms, number)| ReadySince {
                    at_ms: uint(at_ms),
                    number: uint(number),
                }),
            not_before_ms: uint(row.get(10)?),
            must_run: row.get(11)?,
            is_blocked: row.get(12)?,
            crashes: count(row.get(13)?),
            inline: InlineWork::from_bytes(row.get_ref(14)?.as_blob_or_null()?),
        })
    }

    /// The session that holds it or else the code that a session needs, and its place
    /// among what is ready.
    pub(super) fn place(&self) -> (i64, Option<ReadySince>) {
        let holder = self.session.map_or(self.code.as_holder(), holder);
        (holder, self.ready)
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.status == StatusKind::Suspended
    }

    /// Whether its start is delayed, or that of a node that could not run it.
    fn is_delayed(&self, now_ms: u64) -> bool {
        let has_begun = self.last_event_id != EventId::UNASSIGNED;
        !has_begun && self.session.is_none() && self.not_before_ms > now_ms
    }

    pub(super) fn is_held_under(&self, lease: &Lease) -> bool {
        self.session == Some(lease.session) && self.token == lease.token
    }
}

impl Store<'_, '_> {
    /// The instance with this key, if there is one. A caller that changes it saves it.
    pub(super) fn load(&mut self, key: i64) -> Step<Option<Instance>> {
        if let Some(instance) = self.state.take_held(key) {
            debug_assert_eq!(self.read(key)?.as_ref(), Some(&instance));
            return Ok(Some(instance));
        }
        self.read(key)
    }

    fn read(&self, key: i64) -> Step<Option<Instance>> {
        let mut statement = self.statement(sql::INSTANCE_LOAD)?;
        Ok(statement
            .query_row([key], |row| Instance::from_row(key, row))
            .optional()?)
    }

    /// The instance with this id, if there is one.
    pub(super) fn find(&mut self, id: &InstanceId) -> Step<Option<Instance>> {
        let Some(key) = self.key_of(id)? else {
            return Ok(None);
        };
        let found = self.load(key)?;
        if found.is_some() {
            return Ok(found);
        }
        // The key that was remembered is out of date.
        self.state.forget_key(id);
        match self.key_of(id)? {
            Some(key) => self.load(key),
            None => Ok(None),
        }
    }

    /// Stores who holds the instance, whether it is ready, and its status.
    pub(super) fn save_place(&self, instance: &Instance) -> Step<()> {
        let (holder, ready) = instance.place();
        self.run(
            sql::INSTANCE_PLACE,
            params![
                instance.key,
                holder,
                int(instance.token),
                int(instance.given_seq),
                ready.map(|ready| int(ready.at_ms)),
                ready.map(|ready| int(ready.number)),
                int(instance.not_before_ms),
                instance.must_run,
                instance.crashes,
                status_number(instance.status),
                int(instance.updated_at_ms),
                instance.code.0,
            ],
        )?;
        Ok(())
    }

    /// The instance changes now, and not before something of it was recorded.
    pub(super) fn touch(&self, instance: &mut Instance, recorded_ms: u64) {
        let not_before_ms = recorded_ms.max(instance.updated_at_ms);
        instance.updated_at_ms = self.state.now_ms.max(not_before_ms);
    }

    /// The place of something that becomes ready now, or at a later time.
    pub(super) fn ready_from(&mut self, not_before_ms: u64) -> ReadySince {
        ReadySince {
            at_ms: self.state.now_ms.max(not_before_ms),
            number: self.state.next_number(),
        }
    }

    /// Puts a message into the inbox, unless one with its id is there; answers
    /// whether the instance got another place, which is to be stored.
    pub(super) fn put_message(
        &mut self,
        instance: &mut Instance,
        message_id: &MessageId,
        bytes: &[u8],
    ) -> Step<bool> {
        self.put(sql::INBOX_PUT, instance, message_id, bytes)
    }

    /// As [`put_message`](Self::put_message), for a message of which it is known whether it
    /// ends the instance: then the instance needs no code any more.
    pub(super) fn put_outgoing(
        &mut self,
        instance: &mut Instance,
        message: OutgoingBytes<'_>,
    ) -> Step<bool> {
        let Hurry {
            is_hard_stop,
            ends_delay,
        } = message.hurry;
        let loses_code = is_hard_stop && instance.code != CodeNumber::NONE;
        if loses_code {
            instance.code = CodeNumber::NONE;
        }
        let is_hurried = ends_delay && instance.is_delayed(self.state.now_ms);
        if is_hurried {
            instance.not_before_ms = 0;
            instance.ready = None;
        }
        let has_moved = self.put_message(instance, message.message_id, message.bytes)?;
        Ok(has_moved || loses_code || is_hurried)
    }

    /// Puts the message that begins an execution into the inbox. The inbox of an instance
    /// that ended may hold a message with the same id, which is not this one.
    pub(super) fn put_start(
        &mut self,
        instance: &mut Instance,
        start: StartRequest<'_>,
    ) -> Step<bool> {
        self.put(sql::INBOX_START, instance, start.message_id, start.bytes)
    }

    fn put(
        &mut self,
        statement: &'static str,
        instance: &mut Instance,
        message_id: &MessageId,
        bytes: &[u8],
    ) -> Step<bool> {
        let seq = int(self.state.next_number());
        let message = params![instance.key, seq, message_id.as_str(), bytes];
        if self.run(statement, message)? == 0 || instance.is_suspended() {
            return Ok(false);
        }
        self.make_ready(instance)
    }

    /// Gives an instance that has something to do its place and wakes the nodes that may
    /// claim it; answers whether the place is new.
    fn make_ready(&mut self, instance: &mut Instance) -> Step<bool> {
        let is_new = instance.ready.is_none();
        if is_new {
            let not_before_ms = match instance.session {
                Some(_) => 0,
                None => instance.not_before_ms,
            };
            instance.ready = Some(self.ready_from(not_before_ms));
        }
        match instance.session {
            Some(session) => self.note(Change::Session(session)),
            None => self.note_free_instance(instance.code)?,
        }
        Ok(is_new)
    }

    /// Ends the lease of an instance: with messages it is ready. The caller stores its
    /// place.
    pub(super) fn free(&mut self, instance: &mut Instance) -> Step<()> {
        if instance.inline != InlineWork::default() {
            self.spill_all_to_rows(instance)?;
            self.save_inline_work(instance)?;
        }
        instance.session = None;
        instance.given_seq = 0;
        instance.ready = None;
        let must_run = instance.must_run && !instance.status.is_ended();
        if !instance.is_suspended() && (must_run || self.has_messages_after(instance.key, 0)?) {
            self.make_ready(instance)?;
        }
        Ok(())
    }

    pub(super) fn has_messages_after(&self, key: i64, seq: u64) -> Step<bool> {
        self.finds(sql::INBOX_HAS_AFTER, [key, int(seq)])
    }
}
