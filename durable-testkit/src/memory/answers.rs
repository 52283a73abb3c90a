//! The answers to requests that an instance keeps for clients: the latest.

use std::collections::{BTreeMap, VecDeque};

use durable_core::MessageId;
use durable_core::provider::{KEPT_ANSWERS, RequestAnswer};

/// The latest answers by the ids of their requests.
#[derive(Debug, Default)]
pub(super) struct Answers {
    kept: BTreeMap<MessageId, RequestAnswer>,
    in_order: VecDeque<MessageId>,
}

impl Answers {
    /// Keeps an answer, unless the request has one; says whether it did.
    pub(super) fn keep(&mut self, answer: RequestAnswer) -> bool {
        if self.has(&answer.message_id) {
            return false;
        }
        self.in_order.push_back(answer.message_id.clone());
        self.kept.insert(answer.message_id.clone(), answer);
        if self.in_order.len() > KEPT_ANSWERS
            && let Some(oldest) = self.in_order.pop_front()
        {
            self.kept.remove(&oldest);
        }
        true
    }

    pub(super) fn has(&self, id: &MessageId) -> bool {
        self.kept.contains_key(id)
    }

    pub(super) fn get(&self, id: &MessageId) -> Option<&RequestAnswer> {
        self.kept.get(id)
    }

    /// All of them, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &RequestAnswer> {
        self.in_order.iter().filter_map(|id| self.kept.get(id))
    }
}
