//! The turn commit. A turn is checked as a whole before the first change; what fails
//! after that is rolled back by the writer.

use durable_core::provider::{
    Change, ClaimedWork, CommitOutcome, Committed, ProviderError, RequiredCode, TurnCommit,
};
use durable_core::{EventId, ExecutionId, InstanceId, Payload};
use rusqlite::params;

use super::Store;
use super::catalog::CodeNumber;
use super::inline_work::unreadable_inline_work;
use super::instance::Instance;
use super::work::RowKey;
use crate::answer::{self, Claimed};
use crate::codec::{Entries, status_number};
use crate::error::{Fault, Step};
use crate::number::int;
use crate::sql;
use crate::turn::PreparedTurn;

impl Store<'_, '_> {
    pub(crate) fn commit(&mut self, prepared: &PreparedTurn) -> Step<CommitOutcome> {
        let turn = &prepared.turn;
        let Some(instance) = self.find(&turn.lease.instance)? else {
            return Ok(CommitOutcome::Fenced);
        };
        if instance.last_commit_id == Some(turn.commit_id) {
            let answer = self.earlier_answer(&instance, turn)?;
            return Ok(CommitOutcome::AlreadyDone(answer));
        }
        if !instance.is_held_under(&turn.lease) {
            return Ok(CommitOutcome::Fenced);
        }
        let is_tail = instance.execution_id == turn.execution_id
            && instance.last_event_id == turn.expected_last_event_id;
        if !is_tail {
            return Ok(CommitOutcome::Conflict {
                execution_id: instance.execution_id,
                last_event_id: instance.last_event_id,
            });
        }
        if instance.inline.is_damaged() {
            return Err(unreadable_inline_work(&turn.lease.instance).into());
        }
        self.state.turns += 1;
        Ok(CommitOutcome::Done(self.apply(instance, prepared)?))
    }

    fn apply(&mut self, mut instance: Instance, prepared: &PreparedTurn) -> Step<Committed> {
        let turn = &*prepared.turn;
        let place = instance.place();
        self.remove_finished(&mut instance, turn)?;
        self.append_all(&mut instance, prepared)?;
        instance.last_commit_id = Some(turn.commit_id);
        instance.must_run = false;
        instance.crashes = 0;
        self.consume(&mut instance, turn)?;
        for cancelled in &turn.cancelled_work {
            let cancelled = RowKey::new(instance.key, *cancelled);
            self.spill_to_row(&mut instance, cancelled)?;
            self.cancel_work(cancelled)?;
        }
        self.set_timers(instance.key, turn)?;
        self.cancel_timers(instance.key, turn)?;
        self.update_record(&mut instance, prepared)?;
        let claims = self.add_and_claim_work(&mut instance, turn)?;
        for (outgoing, bytes) in prepared.messages() {
            self.deliver(&mut instance, outgoing, bytes)?;
        }
        if !turn.keep_lease || instance.is_suspended() {
            self.free(&mut instance)?;
        }
        let has_messages = instance.session.is_some() && instance.ready.is_some();
        self.save_turn(&instance, has_messages, &claims.kept)?;
        // Its index costs more than the row.
        if instance.place() != place {
            self.save_place(&instance)?;
        }
        self.state.remember_held(instance);
        Ok(Committed::new(has_messages, claims.work))
    }

    /// Removes work whose result stands in the turn's events.
    fn remove_finished(&self, instance: &mut Instance, turn: &TurnCommit) -> Step<()> {
        for finished in &turn.finished_work {
            if !self.finish_inline(instance, *finished) {
                let row = RowKey::new(instance.key, *finished);
                self.run(sql::WORK_DELETE, row.parameters())?;
            }
        }
        Ok(())
    }

    /// Appends the turn's entries, and those of the next execution.
    fn append_all(&mut self, instance: &mut Instance, prepared: &PreparedTurn) -> Step<()> {
        let id = &prepared.turn.lease.instance;
        self.append(instance, id, &prepared.events)?;
        if let Some((execution_id, entries)) = &prepared.next_execution {
            // Inline work belongs to the current execution.
            self.spill_all_to_rows(instance)?;
            self.keep_execution(instance)?;
            instance.execution_id = *execution_id;
            instance.last_event_id = EventId::UNASSIGNED;
            self.append(instance, id, entries)?;
            self.note(Change::Instance(id.clone()));
        }
        if prepared.turn.last_recorded_ms().is_some() {
            self.state.on_appended();
        }
        Ok(())
    }

    /// Appends to the history of the current execution.
    fn append(&self, instance: &mut Instance, id: &InstanceId, entries: &Entries) -> Step<()> {
        let mut statement = self.statement(sql::HISTORY_APPEND)?;
        let execution = int(instance.execution_id.get());
        for entry in entries.iter() {
            let event_id = instance.last_event_id.next();
            let row = params![instance.key, execution, int(event_id.get()), entry];
            statement
                .execute(row)
                .map_err(|error| match error.sqlite_error_code() {
                    Some(rusqlite::ErrorCode::ConstraintViolation) => {
                        occupied(id, instance.execution_id, event_id)
                    }
                    _ => Fault::Sql(error),
                })?;
            instance.last_event_id = event_id;
        }
        Ok(())
    }

    /// Takes the consumed messages from the inbox.
    fn consume(&self, instance: &mut Instance, turn: &TurnCommit) -> Step<()> {
        let mut is_ahead = false;
        for seq in &turn.consumed {
            self.run(sql::INBOX_TAKE, [instance.key, int(seq.0)])?;
            is_ahead |= seq.0 > instance.given_seq;
        }
        // Messages that were never given are gone: there may be none left to give.
        if is_ahead && !self.has_messages_after(instance.key, instance.given_seq)? {
            instance.ready = None;
        }
        Ok(())
    }

    fn update_record(&mut self, instance: &mut Instance, prepared: &PreparedTurn) -> Step<()> {
        let update = &prepared.turn.update;
        let recorded_ms = prepared.turn.last_recorded_ms();
        self.touch(instance, recorded_ms.unwrap_or(0));
        if let Some(not_before_ms) = update.not_before_ms {
            instance.not_before_ms = not_before_ms;
        }
        let changes_record = update.status.is_some()
            || !update.custom_status.is_unchanged()
            || update.blocked.is_some()
            || instance.is_blocked;
        instance.is_blocked = update.blocked.is_some();
        if let Some((name, version)) = &update.running
            && instance.code != CodeNumber::NONE
        {
            let code = RequiredCode::new(name, Some(version.clone()));
            instance.code = self.code_number(code)?;
        }
        if let Some(attributes) = &update.attributes {
            self.change_attributes(instance.key, attributes)?;
        }
        if changes_record || update.running.is_some() {
            let running = update.running.as_ref();
            self.run(
                sql::RECORD_UPDATE,
                params![
                    instance.key,
                    running.map(|(name, _)| name.as_str()),
                    running.map(|(_, version)| version.as_str()),
                    prepared.status,
                    update.custom_status.payload().map(Payload::as_str),
                    !update.custom_status.is_unchanged(),
                    prepared.blocked,
                ],
            )?;
        }
        if changes_record || update.attributes.is_some() {
            self.note(Change::Instance(prepared.turn.lease.instance.clone()));
        }
        if let Some(status) = &update.status {
            instance.status = status.kind();
        }
        if instance.status.is_stopped() {
            self.note(Change::Stop(prepared.turn.lease.instance.clone()));
        }
        if instance.status.is_ended() {
            instance.code = CodeNumber::NONE;
            self.run(sql::TIMER_DELETE_ALL, [instance.key])?;
            self.spill_all_to_rows(instance)?;
            self.cancel_all_work_of(instance.key)?;
        }
        Ok(())
    }

    /// Stores the instance's row, but for its place.
    fn save_turn(&self, instance: &Instance, has_messages: bool, claimed: &[Claimed]) -> Step<()> {
        let commit_id = instance.last_commit_id.map(|id| id.0.to_be_bytes());
        self.run(
            sql::INSTANCE_STEP,
            params![
                instance.key,
                int(instance.execution_id.get()),
                int(instance.last_event_id.get()),
                status_number(instance.status),
                int(instance.updated_at_ms),
                commit_id,
                int(self.state.now_ms),
                answer::to_bytes(has_messages, claimed),
                int(instance.not_before_ms),
                instance.is_blocked,
                instance.inline.to_bytes(),
                instance.code.0,
            ],
        )?;
        Ok(())
    }

    /// The answer that was given to the last commit.
    fn earlier_answer(&self, instance: &Instance, turn: &TurnCommit) -> Step<Committed> {
        let mut statement = self.statement(sql::INSTANCE_ANSWER)?;
        let bytes: Option<Vec<u8>> = statement.query_row([instance.key], |row| row.get(0))?;
        let Some((has_messages, claims)) = answer::from_bytes(bytes.as_deref()) else {
            let id = &turn.lease.instance;
            return Err(ProviderError::Damaged {
                reason: format!("the answer to the last commit of `{id}`"),
            }
            .into());
        };
        let mut claimed = Vec::with_capacity(claims.len());
        for claim in claims {
            let key = RowKey::new(claim.instance_key, claim.source);
            let Some(item) = self.recorded_item(key, claim.number)? else {
                continue;
            };
            let mut work = ClaimedWork::new(item, turn.lease.session, claim.token);
            work.attempt = claim.attempt;
            work.crashes = claim.crashes;
            claimed.push(work);
        }
        Ok(Committed::new(has_messages, claimed))
    }
}

/// The place of an event is taken although the tail says that it is free.
fn occupied(id: &InstanceId, execution_id: ExecutionId, event_id: EventId) -> Fault {
    Fault::Refused(ProviderError::Damaged {
        reason: format!(
            "`{id}`, execution {execution_id}: event {event_id} is stored beyond the tail"
        ),
    })
}
