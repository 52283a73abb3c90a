//! The answers to requests that an instance keeps for clients: the latest.

use durable_core::MessageId;
use durable_core::provider::{Change, KEPT_ANSWERS};
use rusqlite::params;

use super::Store;
use super::instance::Instance;
use crate::error::Step;
use crate::number::{int, uint};
use crate::sql;
use crate::turn::PreparedTurn;

impl Store<'_, '_> {
    /// Keeps the answers of a turn. A request that has an answer keeps that.
    pub(super) fn keep_answers(
        &mut self,
        instance: &Instance,
        prepared: &PreparedTurn,
    ) -> Step<()> {
        for (message_id, result) in prepared.answers() {
            let last = self.number(sql::ANSWER_LAST, [instance.key])?;
            let number = last.map_or(0, uint) + 1;
            let row = params![instance.key, int(number), message_id.as_str(), result];
            if self.run(sql::ANSWER_KEEP, row)? == 0 {
                continue;
            }
            if let Some(oldest) = number.checked_sub(KEPT_ANSWERS as u64) {
                self.run(sql::ANSWER_FORGET, [instance.key, int(oldest)])?;
            }
            let id = prepared.turn.lease.instance.clone();
            self.note(Change::Answer(id, message_id.clone()));
        }
        Ok(())
    }

    /// Whether the answer to a request is kept.
    pub(super) fn has_answer(&self, key: i64, message_id: &MessageId) -> Step<bool> {
        self.finds(sql::ANSWER_IS_KEPT, params![key, message_id.as_str()])
    }
}
