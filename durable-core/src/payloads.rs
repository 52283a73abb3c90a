//! Where payloads are in what goes into a store and comes out of it: one list for both
//! directions, complete by the compiler.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::event::Carried;
use crate::failure::{Failure, FailureKind};
use crate::history::HistoryEntry;
use crate::provider::{
    CustomStatusUpdate, InstanceRecord, InstanceStatus, InstanceUpdate, Message, MessageBody,
    NextExecution, OpenActivity, OutgoingMessage, PoisonedWork, StartInstance, TurnCommit,
    WorkItem, WorkResult, WorkSettlement,
};
use crate::text::Payload;

/// A payload in place: a [`Payload`], or a text that the code or its callers wrote, such
/// as the message of a failure.
pub struct PayloadMut<'a>(Text<'a>);

enum Text<'a> {
    Payload(&'a mut Payload),
    Message(&'a mut String),
}

impl PayloadMut<'_> {
    /// What it says now.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Payload(payload) => payload.as_str(),
            Text::Message(message) => message.as_str(),
        }
    }

    /// Replaces it.
    pub fn set(self, text: String) {
        match self.0 {
            Text::Payload(payload) => *payload = Payload::from(text),
            Text::Message(message) => *message = text,
        }
    }
}

/// Its length alone: what it says may be secret.
impl fmt::Debug for PayloadMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PayloadMut({} bytes)", self.as_str().len())
    }
}

/// Something that holds payloads. Names, ids, times and kinds of failures are no payloads.
///
/// ```
/// use durable_core::{Failure, FailureKind, VisitPayloads};
///
/// let mut failure = Failure::new(FailureKind::Panicked, "secret");
/// let mut payloads = Vec::new();
/// failure.visit(&mut payloads);
/// for payload in payloads {
///     let coded = payload.as_str().to_uppercase();
///     payload.set(coded);
/// }
/// assert_eq!(failure.message, "SECRET");
/// ```
pub trait VisitPayloads {
    /// Adds all of them, in a fixed order.
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>);
}

impl VisitPayloads for Payload {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        payloads.push(PayloadMut(Text::Payload(self)));
    }
}

impl VisitPayloads for String {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        payloads.push(PayloadMut(Text::Message(self)));
    }
}

impl<T: VisitPayloads> VisitPayloads for Option<T> {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.iter_mut().for_each(|value| value.visit(payloads));
    }
}

impl<A: VisitPayloads, B: VisitPayloads> VisitPayloads for (&mut A, &mut B) {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.0.visit(payloads);
        self.1.visit(payloads);
    }
}

impl<T: VisitPayloads> VisitPayloads for Vec<T> {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.iter_mut().for_each(|value| value.visit(payloads));
    }
}

impl<T: VisitPayloads, E: VisitPayloads> VisitPayloads for Result<T, E> {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        match self {
            Ok(value) => value.visit(payloads),
            Err(error) => error.visit(payloads),
        }
    }
}

/// Why a payload codec failed is no payload: it must be readable without the codec.
impl VisitPayloads for Failure {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        if self.kind != FailureKind::PayloadCodec {
            self.message.visit(payloads);
            self.details.visit(payloads);
        }
    }
}

impl VisitPayloads for Carried {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        for (_, value) in &mut self.state {
            value.visit(payloads);
        }
        for event in &mut self.unread_events {
            event.data.visit(payloads);
        }
        self.custom_status.visit(payloads);
        self.cancel_reason.visit(payloads);
    }
}

impl VisitPayloads for HistoryEntry {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.event.visit(payloads);
    }
}

impl VisitPayloads for StartInstance {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.input.visit(payloads);
        for event in &mut self.events {
            event.data.visit(payloads);
        }
    }
}

impl VisitPayloads for Message {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        match &mut self.body {
            MessageBody::Start(start) => start.visit(payloads),
            MessageBody::ActivityFinished { result, .. }
            | MessageBody::SubOrchestrationFinished { result, .. }
            | MessageBody::PromiseSettled {
                resolution: result, ..
            } => result.visit(payloads),
            MessageBody::ExternalRaised { data, .. } => data.visit(payloads),
            MessageBody::Cancel { reason } => reason.visit(payloads),
            MessageBody::Terminate { failure } => failure.visit(payloads),
            MessageBody::TimerFired { .. }
            | MessageBody::Receipt { .. }
            | MessageBody::DeadlinePassed { .. } => {}
        }
    }
}

impl VisitPayloads for OutgoingMessage {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.message.visit(payloads);
    }
}

impl VisitPayloads for WorkItem {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.input.visit(payloads);
    }
}

impl VisitPayloads for PoisonedWork {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.item.visit(payloads);
        self.failure.visit(payloads);
    }
}

impl VisitPayloads for OpenActivity {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.item.visit(payloads);
        self.heartbeat.visit(payloads);
        self.last_failure.visit(payloads);
    }
}

impl VisitPayloads for WorkSettlement {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        match &mut self.result {
            WorkResult::Finished(result) => result.visit(payloads),
            WorkResult::Poisoned(failure) | WorkResult::Retry { failure, .. } => {
                failure.visit(payloads);
            }
            WorkResult::HandedBack { .. } => {}
        }
    }
}

impl VisitPayloads for InstanceStatus {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        match self {
            Self::Completed { output } => output.visit(payloads),
            Self::Suspended { failure }
            | Self::Failed { failure }
            | Self::Terminated { failure } => failure.visit(payloads),
            Self::Pending | Self::Running => {}
        }
    }
}

impl VisitPayloads for CustomStatusUpdate {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        match self {
            Self::Set(status) => status.visit(payloads),
            Self::Unchanged | Self::Cleared => {}
        }
    }
}

/// Why an instance is blocked stays plain: a node without the key says it too.
impl VisitPayloads for InstanceUpdate {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.status.visit(payloads);
        self.custom_status.visit(payloads);
    }
}

impl VisitPayloads for NextExecution {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.events.visit(payloads);
    }
}

impl VisitPayloads for TurnCommit {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.events.visit(payloads);
        self.next_execution.visit(payloads);
        self.new_messages.visit(payloads);
        self.update.visit(payloads);
    }
}

impl VisitPayloads for InstanceRecord {
    fn visit<'a>(&'a mut self, payloads: &mut Vec<PayloadMut<'a>>) {
        self.status.visit(payloads);
        self.custom_status.visit(payloads);
    }
}
