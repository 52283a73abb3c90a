//! What a history says without its code being run: enough to end an instance whose
//! code cannot run, or must not.

use std::collections::BTreeMap;

use durable_core::{Event, EventId, HistoryEntry, InstanceId, MessageId, Parent, Requester};

/// The part of a history that outlives its code.
#[derive(Debug, Default)]
pub(crate) struct HistorySummary {
    /// The instance that waits for the result.
    pub(crate) parent: Option<Parent>,
    /// Children whose results have not come.
    pub(crate) children: BTreeMap<EventId, InstanceId>,
    /// Requests that were not answered, and the orchestrations that made them.
    pub(crate) requests: BTreeMap<MessageId, Option<Requester>>,
    /// The time of the last entry.
    pub(crate) last_recorded_ms: u64,
    /// Whether the last event is a terminal one.
    pub(crate) has_ended: bool,
}

impl HistorySummary {
    pub(crate) fn note(&mut self, entry: &HistoryEntry) {
        self.last_recorded_ms = entry.recorded_at_ms;
        self.has_ended = entry.event.is_terminal();
        match &entry.event {
            Event::OrchestrationStarted {
                parent, carried, ..
            } => {
                self.parent.clone_from(parent);
                let carried = carried.iter();
                for request in carried.flat_map(|carried| &carried.unread_requests) {
                    let requester = request.requester.clone();
                    self.requests.insert(request.message_id.clone(), requester);
                }
            }
            Event::RequestReceived {
                message_id,
                requester,
                ..
            } => {
                self.requests.insert(message_id.clone(), requester.clone());
            }
            Event::RequestAnswered { message_id, .. } => {
                self.requests.remove(message_id);
            }
            Event::SubOrchestrationScheduled {
                event_id, instance, ..
            } => {
                self.children.insert(*event_id, instance.clone());
            }
            event if event.is_terminal() => {
                self.children.clear();
                self.requests.clear();
            }
            // A completion or a cancellation: of a child, or of something that is none.
            event => {
                if let Some(source) = event.source_event_id() {
                    self.children.remove(&source);
                }
            }
        }
    }
}
