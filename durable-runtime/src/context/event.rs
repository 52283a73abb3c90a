//! External events: waiting for them, and sending them to other instances.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use durable_core::{Command, Failure, InstanceId, Name, OneWayCommand, Outcome};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::execution::DurableOperation;
use crate::handle::EventRef;
use crate::payload::{self, PayloadSubject};

impl OrchestrationContext {
    /// Waits for an event that a client or another instance raises for this instance.
    ///
    /// Events of one name are read in the order in which they came. One that came
    /// before the code waited is not lost: the next future of that name gets it.
    ///
    /// A client may raise something that is no `T`. The future gives a failure of kind
    /// `InvalidPayload` for that one event, and the next future gets the next event: code that
    /// skips such failures is not stopped by a mistake of its callers.
    ///
    /// ```
    /// # use durable_runtime::{EventName, Failure, OrchestrationContext};
    /// # const APPROVED: EventName<bool> = EventName::new("approved");
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let approved: bool = ctx.external_event(APPROVED).await?;
    /// # let _ = approved;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```
    /// # use durable_runtime::{EventName, Failure, FailureKind, OrchestrationContext};
    /// # const APPROVED: EventName<bool> = EventName::new("approved");
    /// async fn approval(ctx: OrchestrationContext) -> Result<bool, Failure> {
    ///     loop {
    ///         match ctx.external_event(APPROVED).await {
    ///             Err(failure) if failure.kind == FailureKind::InvalidPayload => continue,
    ///             approved => return approved,
    ///         }
    ///     }
    /// }
    /// # let _ = approval;
    /// ```
    #[track_caller]
    pub fn external_event<T>(&self, event: impl EventRef<T>) -> ExternalEvent<T> {
        let name = event.into_name();
        let subject = PayloadSubject::new("event", name.clone());
        let command = self
            .subject("event", name)
            .map(|subject| Command::External { name: subject.name });
        ExternalEvent {
            operation: DurableOperation::lazy(&self.shared, command),
            subject,
            data: PhantomData,
        }
    }

    /// Takes an event of this name that is there, and does not wait for one.
    ///
    /// It resolves at once, to `None` if every event that came so far was read. Code of the
    /// same poll that waits for an event of this name gets it first. A look in vain adds
    /// nothing to the history.
    ///
    /// What is there changes only while the code waits for something: a loop that does nothing
    /// but look is stopped. Between two looks, wait for something, such as
    /// [`sleep`](Self::sleep); to wait for the event itself, use
    /// [`external_event`](Self::external_event).
    ///
    /// ```
    /// # use durable_runtime::{Activity, EventName, Failure, OrchestrationContext};
    /// # const LINE: EventName<String> = EventName::new("line");
    /// # const PRINT: Activity<Vec<String>, ()> = Activity::new("print");
    /// /// Waits for the first line, and prints it with all others that have come.
    /// async fn printer(ctx: OrchestrationContext) -> Result<(), Failure> {
    ///     let mut page = vec![ctx.external_event(LINE).await?];
    ///     while let Some(line) = ctx.try_external_event(LINE).await? {
    ///         page.push(line);
    ///     }
    ///     ctx.activity(PRINT, &page).await
    /// }
    /// # let _ = printer;
    /// ```
    ///
    /// # Errors
    ///
    /// The future gives a failure of kind `InvalidPayload` for an event that is no `T`; the
    /// event is read then, too.
    #[track_caller]
    pub fn try_external_event<T>(&self, event: impl EventRef<T>) -> TryExternalEvent<T> {
        let name = event.into_name();
        let subject = PayloadSubject::new("event", name.clone());
        let command = self
            .subject("event", name)
            .map(|subject| Command::TryExternal { name: subject.name });
        TryExternalEvent {
            operation: DurableOperation::lazy(&self.shared, command),
            subject,
            data: PhantomData,
        }
    }

    /// Raises an event for another instance.
    ///
    /// Awaited, it gives the receipt: the event is in the inbox of that instance, or there is
    /// no such instance, or it has ended. A receipt says nothing about whether the code of the
    /// receiver reads the event; where that matters, have the receiver answer.
    /// [`detach`](SendEvent::detach) sends it one way, which costs neither another event nor
    /// another turn.
    ///
    /// ```
    /// # use durable_runtime::{EventName, Failure, FailureKind, OrchestrationContext};
    /// # const APPROVED: EventName<bool> = EventName::new("approved");
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// match ctx.send_event("order-7", APPROVED, &true).await {
    ///     Err(gone) if gone.kind == FailureKind::UnknownInstance => { /* it never was */ }
    ///     Err(over) if over.kind == FailureKind::InstanceEnded => { /* it is too late */ }
    ///     sent => sent?,
    /// }
    /// ctx.send_event("audit", APPROVED, &true).detach()?;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn send_event<T: Serialize>(
        &self,
        target: impl Into<InstanceId>,
        event: impl EventRef<T>,
        data: &T,
    ) -> SendEvent {
        let command = self.event_to_send(target.into(), event.into_name(), data);
        SendEvent {
            operation: DurableOperation::lazy(&self.shared, command),
        }
    }

    fn event_to_send<T: Serialize>(
        &self,
        target: InstanceId,
        name: Name,
        data: &T,
    ) -> Result<Command, Failure> {
        let subject = self.subject("event", name)?;
        let target = self.checked_instance(target)?;
        let data = payload::encode(self.limits(), "data", &subject, data)?;
        Ok(Command::SendEvent {
            target,
            name: subject.name,
            data,
        })
    }
}

/// An event for another instance: await its receipt, or detach it.
///
/// # Errors
///
/// Awaited it gives a failure of kind `UnknownInstance` or `InstanceEnded` if the event has no
/// receiver, `LimitExceeded` if a name or the data is empty or too long, `InvalidPayload` if the
/// data does not encode, `Cancelled` if this instance is asked to stop before the receipt has
/// come, and `DeterminismViolation` if the caller is not the orchestration itself.
#[derive(Debug)]
#[must_use = "an event is sent when the future is first polled, or by `detach`"]
pub struct SendEvent {
    operation: DurableOperation,
}

impl SendEvent {
    /// Sends the event one way: if it has no receiver, it is dropped and the sender is not told.
    ///
    /// # Errors
    ///
    /// A failure of kind `LimitExceeded` if a name or the data is empty or too long,
    /// `InvalidPayload` if the data does not encode, and `DeterminismViolation` if the caller
    /// is not the orchestration itself.
    pub fn detach(self) -> Result<(), Failure> {
        let shared = Arc::clone(self.operation.shared());
        match self.operation.detach()? {
            Some(Command::SendEvent { target, name, data }) => {
                shared.emit(OneWayCommand::SendEvent { target, name, data })
            }
            // It was polled, and is on its way.
            _ => Ok(()),
        }
    }
}

impl Future for SendEvent {
    type Output = Result<(), Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.get_mut().operation.poll_outcome(cx);
        polled.map(|outcome| match outcome {
            Outcome::Failed(failure) => Err(*failure),
            _ => Ok(()),
        })
    }
}

/// An event that is waited for.
#[derive(Debug)]
#[must_use = "an event is waited for when the future is first polled"]
pub struct ExternalEvent<T> {
    operation: DurableOperation,
    subject: PayloadSubject,
    data: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Future for ExternalEvent<T> {
    type Output = Result<T, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.operation.poll_value(&this.subject, cx)
    }
}

/// An event that is taken if it is there.
#[derive(Debug)]
#[must_use = "the event is looked for when the future is first polled"]
pub struct TryExternalEvent<T> {
    operation: DurableOperation,
    subject: PayloadSubject,
    data: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Future for TryExternalEvent<T> {
    type Output = Result<Option<T>, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.operation
            .poll_outcome(cx)
            .map(|outcome| match outcome {
                Outcome::Nothing => Ok(None),
                outcome => this.operation.value(&this.subject, outcome).map(Some),
            })
    }
}
