//! Requests by name: those that wait for their answer, and the futures that wait for one.
//!
//! A wait records nothing. It begins with the flush of its poll, together with the other
//! waits of that poll in an order that every replay has, and an arriving request goes to the
//! oldest wait of its name.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use super::Cursor;
use super::appended::LeftOpen;
use super::block::Output;
use super::external::RecentMessages;
use super::operation::{OpKey, OperationKind, Outcome, Phase};
use super::small_map::SmallMap;
use crate::event::{EndedOperation, Event, Requester, UnreadRequest};
use crate::failure::Failure;
use crate::id::EventId;
use crate::text::{MessageId, Name, Payload};

/// A request that the code has taken. It owes the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReceivedRequest {
    /// The event that brought it: its `RequestReceived`, or the start of the execution.
    pub event_id: EventId,
    /// The requester's id of it.
    pub message_id: MessageId,
    /// What it carries.
    pub input: Payload,
}

/// What a future that asks for a request does if there is none. Of one poll those that wait
/// come first, as for external events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IfNone {
    /// It waits for the next one.
    Wait,
    /// It is told so.
    Tell,
}

/// A future that asked for a request in the current poll.
#[derive(Debug)]
pub(super) struct RequestCall {
    pub(super) name: Name,
    pub(super) key: OpKey,
    pub(super) if_none: IfNone,
}

/// Which of the requests of an execution, in order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequestPlace(u64);

/// Which of the waits of an execution, in the order in which they began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WaitOrder(u64);

/// All requests of one execution, and the waits for them.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// None before the first: most executions have no requests.
    known: Option<Box<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    channels: SmallMap<Name, Channel>,
    /// Those that are not answered.
    open: BTreeMap<RequestPlace, OpenRequest>,
    place_of: BTreeMap<MessageId, RequestPlace>,
    /// The ids of the latest, so that one that is sent again is recognised.
    recent: RecentMessages,
    arrived: u64,
    waits_begun: u64,
    waiting: usize,
}

/// The requests of one name that no future has, or the waits for one: never both.
#[derive(Debug, Default)]
struct Channel {
    unread: BTreeSet<RequestPlace>,
    /// Ascending: a later wait has a later order.
    waiting: VecDeque<(WaitOrder, OpKey)>,
}

/// A request that is not answered.
#[derive(Debug)]
struct OpenRequest {
    brought_by: EventId,
    request: UnreadRequest,
    /// Whether the code owes the answer.
    is_taken: bool,
}

impl Requests {
    fn known(&mut self) -> &mut Known {
        self.known.get_or_insert_default()
    }

    /// How many futures wait for a request.
    pub(super) fn waits(&self) -> usize {
        self.known.as_ref().map_or(0, |known| known.waiting)
    }

    /// Whether a request with this id waits for its answer.
    pub(super) fn is_open(&self, id: &MessageId) -> bool {
        let mut known = self.known.iter();
        known.any(|known| known.place_of.contains_key(id))
    }

    /// Whether a request with this id is among the latest.
    pub(super) fn is_recent(&self, id: &MessageId) -> bool {
        let mut known = self.known.iter();
        known.any(|known| known.recent.contains(id))
    }

    /// Remembers the id of a request that was answered by the execution before.
    pub(super) fn remember(&mut self, id: MessageId) {
        self.known().recent.remember(id);
    }

    /// Takes in a request that this event brought.
    fn arrive(&mut self, brought_by: EventId, request: UnreadRequest) -> RequestPlace {
        let known = self.known();
        let place = RequestPlace(known.arrived);
        known.arrived += 1;
        known.recent.remember(request.message_id.clone());
        known.place_of.insert(request.message_id.clone(), place);
        let open = OpenRequest {
            brought_by,
            request,
            is_taken: false,
        };
        known.open.insert(place, open);
        place
    }

    /// The oldest wait for a request, which ends with it; without one the request is unread.
    fn offer(&mut self, place: RequestPlace) -> Option<OpKey> {
        let known = self.known.as_mut()?;
        let name = known.open.get(&place)?.request.name.clone();
        let channel = known.channels.get_or_default(&name);
        let Some((_, key)) = channel.waiting.pop_front() else {
            channel.unread.insert(place);
            return None;
        };
        known.waiting -= 1;
        known.forget_if_empty(&name);
        Some(key)
    }

    /// The oldest unread request of a name, which is unread no longer.
    fn take_unread(&mut self, name: &Name) -> Option<RequestPlace> {
        let known = self.known.as_mut()?;
        let place = known.channels.get_mut(name)?.unread.pop_first()?;
        known.forget_if_empty(name);
        Some(place)
    }

    /// Adds the latest of all waits.
    fn wait(&mut self, name: &Name, key: OpKey) -> WaitOrder {
        let known = self.known();
        let order = WaitOrder(known.waits_begun);
        known.waits_begun += 1;
        known.waiting += 1;
        let channel = known.channels.get_or_default(name);
        debug_assert!(channel.unread.is_empty());
        channel.waiting.push_back((order, key));
        order
    }

    /// Forgets a wait.
    fn stop_waiting(&mut self, name: &Name, order: WaitOrder) {
        let Some(known) = &mut self.known else {
            return;
        };
        if let Some(channel) = known.channels.get_mut(name)
            && let Ok(at) = channel
                .waiting
                .binary_search_by_key(&order, |(order, _)| *order)
        {
            channel.waiting.remove(at);
            known.waiting -= 1;
        }
        known.forget_if_empty(name);
    }

    /// All waits, in the order in which they began.
    fn waiting(&self) -> Vec<OpKey> {
        let channels = self.known.iter().flat_map(|known| known.channels.values());
        let mut waits: Vec<_> = channels.flat_map(|channel| &channel.waiting).collect();
        waits.sort_by_key(|(order, _)| *order);
        waits.into_iter().map(|(_, key)| *key).collect()
    }

    fn received(&self, place: RequestPlace) -> Option<Box<ReceivedRequest>> {
        let open = self.known.as_ref()?.open.get(&place)?;
        Some(Box::new(ReceivedRequest {
            event_id: open.brought_by,
            message_id: open.request.message_id.clone(),
            input: open.request.input.clone(),
        }))
    }

    /// The code has it: it owes the answer from now on, and needs the input no longer.
    pub(super) fn taken(&mut self, place: RequestPlace) {
        if let Some(known) = &mut self.known
            && let Some(open) = known.open.get_mut(&place)
        {
            open.is_taken = true;
            open.request.input = Payload::from("");
        }
    }

    /// The answer to a request that the code has taken; it is open no longer.
    fn answered(&mut self, id: &MessageId) -> Option<OpenRequest> {
        let known = self.known.as_mut()?;
        let place = *known.place_of.get(id)?;
        if !known.open.get(&place)?.is_taken {
            return None;
        }
        known.place_of.remove(id);
        known.open.remove(&place)
    }

    /// The requests that the code has not taken, in order of arrival.
    pub(super) fn unread(&self) -> Vec<UnreadRequest> {
        let open = self.known.iter().flat_map(|known| known.open.values());
        open.filter(|open| !open.is_taken)
            .map(|open| open.request.clone())
            .collect()
    }

    /// The ids of the latest requests that have an answer, or get one with the end of the
    /// execution; oldest first.
    pub(super) fn answered_ids(&self) -> Vec<MessageId> {
        let Some(known) = &self.known else {
            return Vec::new();
        };
        let is_unread = |id: &&MessageId| {
            let place = known.place_of.get(*id);
            let open = place.and_then(|place| known.open.get(place));
            open.is_some_and(|open| !open.is_taken)
        };
        let recent = known.recent.iter();
        recent.filter(|id| !is_unread(id)).cloned().collect()
    }

    /// The requests that the end of the execution leaves without an answer, in order of
    /// arrival. Those that the code has not taken may go on to the next execution.
    pub(super) fn left_open(&self, unread_too: bool) -> impl Iterator<Item = LeftOpen> {
        let open = self.known.iter().flat_map(|known| known.open.values());
        open.filter(move |open| unread_too || open.is_taken)
            .map(|open| LeftOpen::Request {
                event_id: open.brought_by,
                message_id: open.request.message_id.clone(),
                requester: open.request.requester.clone().map(Box::new),
                is_taken: open.is_taken,
            })
    }
}

impl Known {
    fn forget_if_empty(&mut self, name: &Name) {
        if let Some(channel) = self.channels.get_mut(name) {
            debug_assert!(channel.unread.is_empty() || channel.waiting.is_empty());
            if channel.unread.is_empty() && channel.waiting.is_empty() {
                self.channels.remove(name);
            }
        }
    }
}

impl Cursor {
    /// A future asks for a request. It is answered, or begins to wait, with the flush.
    pub(super) fn call_request(&mut self, name: Name, if_none: IfNone) -> OpKey {
        let kind = OperationKind::RequestWait(Box::new(name.clone()));
        let key = self.operations.insert(kind, Phase::Called);
        self.block.call_request(RequestCall { name, key, if_none });
        key
    }

    /// A request arrived, with this event.
    pub(super) fn receive_request(&mut self, brought_by: EventId, request: UnreadRequest) {
        let place = self.requests.arrive(brought_by, request);
        self.offer_request(place);
    }

    fn offer_request(&mut self, place: RequestPlace) {
        if let Some(key) = self.requests.offer(place) {
            self.bring(key, place);
        }
    }

    /// A future holds a request until it takes it.
    fn bring(&mut self, key: OpKey, place: RequestPlace) {
        if let Some(received) = self.requests.received(place) {
            self.operations.arrived_request(key, place, received);
        }
    }

    /// Requests whose futures were dropped in this poll go to other waits, or back to their
    /// places: oldest first, whatever was dropped first.
    pub(super) fn return_requests(&mut self) {
        let mut returned = self.block.take_returned_requests();
        returned.sort_unstable();
        for place in returned {
            self.offer_request(place);
        }
    }

    /// The futures that asked for requests in this poll get them, or begin to wait. They are
    /// concurrent, so they stand in the order of their names, those that wait first; equal ones
    /// in the order in which the driver opened them, which is the same in every replay.
    pub(super) fn answer_request_calls(&mut self) {
        let mut calls = self.block.take_request_calls();
        calls.sort_by(|one, other| {
            let names = one.name.cmp(&other.name);
            names.then(one.if_none.cmp(&other.if_none))
        });
        for RequestCall { name, key, if_none } in calls {
            if self.operations.get(key).is_none() {
                continue;
            }
            match (self.requests.take_unread(&name), if_none) {
                (Some(place), _) => self.bring(key, place),
                (None, IfNone::Tell) => self.operations.arrived(key, Outcome::Nothing),
                (None, IfNone::Wait) => {
                    let order = self.requests.wait(&name, key);
                    self.operations.waits(key, order);
                }
            }
        }
    }

    /// The waits for requests end with a cancellation, oldest first.
    pub(super) fn cancel_request_waits(&mut self, reason: &str) {
        for key in self.requests.waiting() {
            self.stop_waiting(key);
            let failure = Box::new(Failure::cancelled(reason));
            self.operations.arrived(key, Outcome::Failed(failure));
        }
    }

    /// An operation no longer waits for a request, if it does.
    pub(super) fn stop_waiting(&mut self, key: OpKey) {
        if let Some(operation) = self.operations.get(key)
            && let OperationKind::RequestWait(name) = &operation.kind
            && let Phase::WaitsForRequest { order } = operation.phase
        {
            self.requests.stop_waiting(name, order);
        }
    }

    /// The code answers a request that it has taken. A second answer is none.
    pub(super) fn answer_request(&mut self, id: MessageId, result: Result<Payload, Failure>) {
        let Some(answered) = self.requests.answered(&id) else {
            return;
        };
        let requester = answered.request.requester;
        let event = Event::RequestAnswered {
            event_id: EventId::UNASSIGNED,
            source_event_id: answered.brought_by,
            message_id: id,
            result,
        };
        self.push(Output {
            event,
            operation: None,
            ended: requester.map_or(EndedOperation::Plain, ended_request),
        });
    }
}

fn ended_request(requester: Requester) -> EndedOperation {
    EndedOperation::RequestOf(Box::new(requester))
}
