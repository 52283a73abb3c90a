//! Limits on what a provider is handed: the one place that knows which names and
//! payloads of a call are measured, so that no provider forgets one.
//!
//! Everything that a caller hands in is measured; reasons and failure messages
//! are measured as payloads. Nothing is measured that the store made itself, and
//! nothing here knows how often or when a provider asks: it asks once per call,
//! before it writes anything.

use super::commit::{InstanceUpdate, TurnCommit};
use super::lease::{Release, SessionOptions};
use super::message::{Message, MessageBody};
use super::query::InstanceStatus;
use super::start::StartInstance;
use super::work::WorkResult;
use crate::event::Event;
use crate::failure::Failure;
use crate::limits::{LimitError, Limits};
use crate::text::{InstanceId, Payload};

type Checked = Result<(), LimitError>;

/// What a provider asks before it writes anything: one call for each thing that its
/// callers hand in.
impl Limits {
    /// Checks everything in a turn: its events (and with them its work), its messages and
    /// what it says of its instance.
    ///
    /// # Errors
    ///
    /// The first name or payload that is refused.
    pub fn check_turn(&self, turn: &TurnCommit) -> Result<(), LimitError> {
        let next = turn.next_execution.iter().flat_map(|next| &next.events);
        for entry in turn.events.iter().chain(next) {
            self.check_event(&entry.event)?;
        }
        for outgoing in &turn.new_messages {
            self.check_message(&outgoing.target, &outgoing.message)?;
        }
        check_update(self, &turn.update)
    }

    /// Checks the names in what a node says of itself.
    ///
    /// # Errors
    ///
    /// The first name that is refused.
    pub fn check_session(&self, options: &SessionOptions) -> Result<(), LimitError> {
        for queue in options.queues.iter().flatten() {
            self.check_name("queue", queue)?;
        }
        let Some(code) = &options.code else {
            return Ok(());
        };
        for (name, versions) in &code.orchestrations {
            self.check_name("orchestration", name)?;
            for version in versions {
                self.check_name("version", version)?;
            }
        }
        let mut activities = code.activities.iter();
        activities.try_for_each(|name| self.check_name("activity", name))
    }

    /// Checks a message and the id of the instance that it is for.
    ///
    /// # Errors
    ///
    /// The first name or payload that is refused.
    ///
    /// ```
    /// use durable_core::provider::{Message, MessageBody};
    /// use durable_core::{InstanceId, LimitError, Limits};
    ///
    /// let order = InstanceId::from("order-7");
    /// let message = Message {
    ///     message_id: "approval-1".into(),
    ///     body: MessageBody::ExternalRaised {
    ///         name: "".into(),
    ///         data: "true".into(),
    ///     },
    /// };
    /// assert_eq!(
    ///     Limits::default().check_message(&order, &message),
    ///     Err(LimitError::EmptyName { what: "event" })
    /// );
    /// ```
    pub fn check_message(&self, target: &InstanceId, message: &Message) -> Result<(), LimitError> {
        self.check_name("instance", target)?;
        self.check_name("message", &message.message_id)?;
        match &message.body {
            MessageBody::Start(start) => check_start(self, start),
            MessageBody::ActivityFinished { result, .. }
            | MessageBody::SubOrchestrationFinished { result, .. }
            | MessageBody::PromiseSettled {
                resolution: result, ..
            } => check_result(self, result),
            MessageBody::ExternalRaised { name, data } => {
                self.check_name("event", name)?;
                self.check_payload("event data", data)
            }
            MessageBody::Cancel { reason } => self.check_payload("reason", reason),
            MessageBody::Terminate { failure } => self.check_failure(failure),
            MessageBody::TimerFired { .. } | MessageBody::DeadlinePassed { .. } => Ok(()),
            MessageBody::Receipt { target, .. } => self.check_name("instance", target),
        }
    }

    /// Checks what is said of an instance that is given back.
    ///
    /// # Errors
    ///
    /// The first name or payload that is refused.
    pub fn check_release(&self, release: &Release) -> Result<(), LimitError> {
        let blocked = release.blocked.as_ref();
        blocked.map_or(Ok(()), |blocked| self.check_failure(blocked))
    }

    /// Checks what became of a work item.
    ///
    /// # Errors
    ///
    /// The first name or payload that is refused.
    pub fn check_work_result(&self, result: &WorkResult) -> Result<(), LimitError> {
        match result {
            WorkResult::Finished(result) => check_result(self, result),
            WorkResult::Poisoned(failure) => self.check_failure(failure),
            WorkResult::Retry { .. } | WorkResult::HandedBack { .. } => Ok(()),
        }
    }

    /// The failure of an attempt as a store keeps it while the work is open: as it is, or none
    /// if it breaks the limits. It is there to be looked at, so no retry is refused for it.
    pub fn retained_failure<'a>(&self, failure: &'a Failure) -> Option<&'a Failure> {
        Some(failure).filter(|failure| self.check_failure(failure).is_ok())
    }

    /// Checks the names and payloads of an event.
    ///
    /// # Errors
    ///
    /// The first name or payload that is refused.
    pub fn check_event(&self, event: &Event) -> Result<(), LimitError> {
        event.check_limits(self)
    }
}

fn check_update(limits: &Limits, update: &InstanceUpdate) -> Checked {
    if let Some((name, version)) = &update.running {
        limits.check_name("orchestration", name)?;
        limits.check_name("version", version)?;
    }
    if let Some(custom_status) = update.custom_status.payload() {
        limits.check_payload("custom status", custom_status)?;
    }
    if let Some(attributes) = &update.attributes {
        limits.check_attributes(attributes)?;
    }
    if let Some(blocked) = &update.blocked {
        limits.check_failure(blocked)?;
    }
    match &update.status {
        Some(InstanceStatus::Completed { output }) => limits.check_payload("output", output),
        Some(
            InstanceStatus::Suspended { failure }
            | InstanceStatus::Failed { failure }
            | InstanceStatus::Terminated { failure },
        ) => limits.check_failure(failure),
        Some(InstanceStatus::Pending | InstanceStatus::Running) | None => Ok(()),
    }
}

fn check_result(limits: &Limits, result: &Result<Payload, Failure>) -> Checked {
    match result {
        Ok(value) => limits.check_payload("result", value),
        Err(failure) => limits.check_failure(failure),
    }
}

fn check_start(limits: &Limits, start: &StartInstance) -> Checked {
    limits.check_name("orchestration", &start.name)?;
    if let Some(version) = &start.version {
        limits.check_name("version", version)?;
    }
    limits.check_attributes(&start.attributes)?;
    for event in &start.events {
        limits.check_name("message", &event.message_id)?;
        limits.check_name("event", &event.name)?;
        limits.check_payload("event data", &event.data)?;
    }
    limits.check_payload("input", &start.input)
}
