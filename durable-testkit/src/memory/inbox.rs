//! The inbox of an instance: its messages by place, and their ids beside them, so that
//! nothing looks through all messages.

use std::collections::BTreeMap;
use std::ops::Bound;

use durable_core::MessageId;
use durable_core::provider::{InboxMessage, InboxSeq, Message};

/// The messages that no commit has consumed.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    messages: BTreeMap<InboxSeq, Message>,
    /// How many messages have each id: a start is put beside an older message that has its id.
    ids: BTreeMap<MessageId, usize>,
}

impl Inbox {
    /// Adds a message at a place that was never used.
    pub(super) fn put(&mut self, seq: InboxSeq, message: Message) {
        *self.ids.entry(message.message_id.clone()).or_default() += 1;
        self.messages.insert(seq, message);
    }

    /// Removes the message at this place, if it is there.
    pub(super) fn remove(&mut self, seq: InboxSeq) {
        let Some(message) = self.messages.remove(&seq) else {
            return;
        };
        if let Some(count) = self.ids.get_mut(&message.message_id) {
            *count -= 1;
            if *count == 0 {
                self.ids.remove(&message.message_id);
            }
        }
    }

    /// Whether a message with this id is there.
    pub(super) fn has(&self, id: &MessageId) -> bool {
        self.ids.contains_key(id)
    }

    /// The place of the newest message.
    pub(super) fn newest(&self) -> Option<InboxSeq> {
        self.messages.last_key_value().map(|(seq, _)| *seq)
    }

    /// The messages after this place, in order.
    pub(super) fn after(&self, seq: InboxSeq) -> impl Iterator<Item = InboxMessage> {
        let later = (Bound::Excluded(seq), Bound::Unbounded);
        self.messages
            .range(later)
            .map(|(seq, message)| InboxMessage {
                seq: *seq,
                message: message.clone(),
            })
    }

    /// All messages, in order.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::event_message;

    #[test]
    fn an_id_is_known_until_its_last_message_is_removed() {
        let mut inbox = Inbox::default();
        for (seq, id) in [(1, "a"), (3, "b"), (4, "a")] {
            inbox.put(InboxSeq(seq), event_message(id));
        }
        let known = |inbox: &Inbox| ["a", "b", "c"].map(|id| inbox.has(&id.into()));
        assert_eq!(known(&inbox), [true, true, false]);
        inbox.remove(InboxSeq(1));
        inbox.remove(InboxSeq(1));
        inbox.remove(InboxSeq(2));
        assert_eq!(known(&inbox), [true, true, false]);
        assert_eq!(inbox.newest(), Some(InboxSeq(4)));
        inbox.remove(InboxSeq(4));
        assert_eq!(known(&inbox), [false, true, false]);
        assert_eq!(inbox.newest(), Some(InboxSeq(3)));
    }

    #[test]
    fn messages_come_in_order_from_after_a_place() {
        let mut inbox = Inbox::default();
        for seq in [7, 2, 5] {
            inbox.put(InboxSeq(seq), event_message(format!("m{seq}")));
        }
        let after = |seq| -> Vec<u64> {
            let later = inbox.after(InboxSeq(seq));
            later.map(|message| message.seq.0).collect()
        };
        assert_eq!(
            (after(0), after(2), after(7)),
            (vec![2, 5, 7], vec![5, 7], vec![])
        );
        let ids: Vec<_> = inbox.messages().map(|it| it.message_id.as_str()).collect();
        assert_eq!(ids, ["m2", "m5", "m7"]);
    }
}
