//! Requests: taking and answering those of clients and other instances, and making them.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use durable_core::{
    Command, Failure, FailureKind, InstanceId, MessageId, OneWayCommand, Outcome, Payload,
    ReceivedRequest,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OrchestrationContext;
use crate::execution::{CallSite, DurableOperation, Shared};
use crate::handle::RequestRef;
use crate::payload::{self, PayloadSubject};
use crate::rejection::{self, RequestFailure};

impl OrchestrationContext {
    /// Waits for the next request of this name that a client or another instance makes of
    /// this instance.
    ///
    /// Requests of one name are taken in the order in which they came. One that came before
    /// the code waited is not lost: the next future of that name gets it. The wait itself
    /// leaves no trace in the history; a request is two events, its arrival and its answer.
    ///
    /// The code that takes a request owes its answer: see [`IncomingRequest`]. A request whose
    /// input is no `I` never gets here: the runtime refuses it to its sender, and the wait goes
    /// on.
    ///
    /// ```
    /// use durable_runtime::{Failure, OrchestrationContext, Request};
    ///
    /// const ADD: Request<u32, u32> = Request::new("add");
    ///
    /// async fn counter(ctx: OrchestrationContext, limit: u32) -> Result<u32, Failure> {
    ///     let mut total = 0;
    ///     while total < limit {
    ///         let add = ctx.request(ADD).await?;
    ///         match add.input() {
    ///             0 => add.reject("nothing is added")?,
    ///             number => {
    ///                 total += number;
    ///                 add.answer(&total)?;
    ///             }
    ///         }
    ///     }
    ///     Ok(total)
    /// }
    /// # let _ = counter;
    /// ```
    #[track_caller]
    pub fn request<I, O, E>(&self, request: impl RequestRef<I, O, E>) -> RequestWait<I, O, E> {
        RequestWait(self.requests(request, |name| Command::Request { name }))
    }

    /// Takes the next request of this name that has come; none if there is none.
    ///
    /// It does not wait, but it has to be awaited: like all that an orchestration learns, the
    /// answer is the same in every replay.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext, Request};
    /// # const ADD: Request<u32, u32> = Request::new("add");
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// while let Some(add) = ctx.try_request(ADD).await? {
    ///     add.answer(&0)?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn try_request<I, O, E>(&self, request: impl RequestRef<I, O, E>) -> TryRequest<I, O, E> {
        TryRequest(self.requests(request, |name| Command::TryRequest { name }))
    }

    /// Makes a request of another instance and waits for its answer.
    ///
    /// Dropping the future gives the answer up; the other instance gets the request all the
    /// same.
    ///
    /// ```
    /// # use durable_runtime::{Failure, OrchestrationContext, Request, RequestFailure};
    /// # const ADD: Request<u32, u32> = Request::new("add");
    /// # async fn example(ctx: OrchestrationContext) -> Result<(), Failure> {
    /// let total = match ctx.request_of("counter-7", ADD, &3).await {
    ///     Ok(total) => total,
    ///     Err(RequestFailure::Rejected(_)) => 0,
    ///     Err(failure) => return Err(failure.into()),
    /// };
    /// # let _: u32 = total;
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn request_of<I: Serialize, O, E>(
        &self,
        target: impl Into<InstanceId>,
        request: impl RequestRef<I, O, E>,
        input: &I,
    ) -> SentRequest<O, E> {
        let name = request.into_name();
        let subject = PayloadSubject::new("request", name.clone());
        let command = self.subject("request", name).and_then(|subject| {
            let target = self.checked_instance(target.into())?;
            let input = payload::encode(self.limits(), "input", &subject, input)?;
            Ok(Command::SendRequest {
                target,
                name: subject.name,
                input,
            })
        });
        SentRequest {
            operation: DurableOperation::lazy(&self.shared, command),
            subject,
            types: PhantomData,
        }
    }

    #[track_caller]
    fn requests<I, O, E>(
        &self,
        request: impl RequestRef<I, O, E>,
        command: impl FnOnce(durable_core::Name) -> Command,
    ) -> Requests<I, O, E> {
        let name = request.into_name();
        let command = self
            .subject("request", name.clone())
            .map(|subject| command(subject.name));
        let again = command.as_ref().ok().cloned();
        Requests {
            operation: DurableOperation::lazy(&self.shared, command),
            again,
            call_site: CallSite::of_caller(),
            subject: PayloadSubject::new("request", name),
            types: PhantomData,
        }
    }
}

/// What a future that takes requests came to: none if there is none and it does not wait.
type Taken<I, O, E> = Result<Option<IncomingRequest<I, O, E>>, Failure>;

/// What a request is about.
type Types<I, O, E> = PhantomData<fn() -> (I, O, E)>;

/// A future that takes requests.
struct Requests<I, O, E> {
    operation: DurableOperation,
    /// What to ask for after a request whose input does not decode.
    again: Option<Command>,
    call_site: CallSite,
    subject: PayloadSubject,
    types: Types<I, O, E>,
}

impl<I: DeserializeOwned, O, E> Requests<I, O, E> {
    /// The next request with an input of its type. Others are refused to their senders.
    fn poll(&mut self, cx: &Context<'_>) -> Poll<Taken<I, O, E>> {
        loop {
            let received = match ready!(self.operation.poll_outcome(cx)) {
                Outcome::Request(received) => received,
                Outcome::Nothing => return Poll::Ready(Ok(None)),
                outcome => {
                    let failed = self.operation.value::<()>(&self.subject, outcome);
                    return Poll::Ready(failed.map(|()| None));
                }
            };
            let ReceivedRequest {
                event_id,
                message_id,
                input,
                ..
            } = *received;
            let mut request = IncomingRequest {
                owed: OwedAnswer {
                    shared: Arc::clone(self.operation.shared()),
                    message_id,
                    is_given: false,
                },
                subject: self.subject.clone(),
                input: (),
                types: PhantomData,
            };
            match payload::decode("input", &self.subject, Some(event_id), &input) {
                Ok(input) => return Poll::Ready(Ok(Some(request.with(input)))),
                Err(failure) => {
                    let limits = &request.owed.shared.settings.limits;
                    let refusal = payload::fitting(limits, failure);
                    if let Err(failure) = request.owed.give(Err(refusal)) {
                        return Poll::Ready(Err(failure));
                    }
                    let Some(again) = self.again.clone() else {
                        return Poll::Pending;
                    };
                    let shared = Arc::clone(self.operation.shared());
                    self.operation = DurableOperation::at(&shared, again, self.call_site);
                }
            }
        }
    }
}

impl<I, O, E> fmt::Debug for Requests<I, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Requests").field(&self.subject.name).finish()
    }
}

/// A request that is waited for.
#[derive(Debug)]
#[must_use = "a request is waited for when the future is first polled"]
pub struct RequestWait<I, O, E>(Requests<I, O, E>);

impl<I: DeserializeOwned, O, E> Future for RequestWait<I, O, E> {
    type Output = Result<IncomingRequest<I, O, E>, Failure>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match ready!(self.get_mut().0.poll(cx)) {
            Ok(Some(request)) => Poll::Ready(Ok(request)),
            // A wait has no answer but a request.
            Ok(None) => Poll::Pending,
            Err(failure) => Poll::Ready(Err(failure)),
        }
    }
}

/// A request that has come, if there is one.
#[derive(Debug)]
#[must_use = "a request is asked for when the future is first polled"]
pub struct TryRequest<I, O, E>(Requests<I, O, E>);

impl<I: DeserializeOwned, O, E> Future for TryRequest<I, O, E> {
    type Output = Taken<I, O, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().0.poll(cx)
    }
}

/// A request that the code has taken: it owes the answer.
///
/// [`answer`](Self::answer) and [`reject`](Self::reject) give it, once, in the commit of the
/// turn. One that is dropped without either is rejected by the runtime with a failure of kind
/// `Unanswered`, as are those that are open when the execution ends or continues as new.
#[must_use = "a request that is dropped is rejected"]
pub struct IncomingRequest<I, O, E = String> {
    owed: OwedAnswer,
    subject: PayloadSubject,
    input: I,
    types: PhantomData<fn(O, E)>,
}

impl<I, O, E> IncomingRequest<I, O, E> {
    /// What the request carries.
    pub const fn input(&self) -> &I {
        &self.input
    }

    /// The id of the request: the caller's own, or one that was made for it.
    pub const fn id(&self) -> &MessageId {
        &self.owed.message_id
    }

    /// Answers the request.
    ///
    /// # Errors
    ///
    /// A failure of kind `InvalidPayload` or `LimitExceeded` if the answer does not encode or
    /// is too large (the request is unanswered then), and `DeterminismViolation` if the caller
    /// is not the orchestration itself.
    pub fn answer(mut self, answer: &O) -> Result<(), Failure>
    where
        O: Serialize,
    {
        let limits = &self.owed.shared.settings.limits;
        let answer = payload::encode(limits, "answer", &self.subject, answer)?;
        self.owed.give(Ok(answer))
    }

    /// Rejects the request: the caller gets this value.
    ///
    /// # Errors
    ///
    /// As [`answer`](Self::answer).
    pub fn reject(mut self, rejection: impl Into<E>) -> Result<(), Failure>
    where
        E: Serialize + fmt::Display,
    {
        let limits = &self.owed.shared.settings.limits;
        let failure = rejection::encode(limits, &self.subject, &rejection.into())?;
        self.owed.give(Err(failure))
    }
}

impl<O, E> IncomingRequest<(), O, E> {
    fn with<I>(self, input: I) -> IncomingRequest<I, O, E> {
        IncomingRequest {
            owed: self.owed,
            subject: self.subject,
            input,
            types: PhantomData,
        }
    }
}

impl<I: fmt::Debug, O, E> fmt::Debug for IncomingRequest<I, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncomingRequest")
            .field("name", &self.subject.name)
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}

/// The answer that the code owes; it is given once.
struct OwedAnswer {
    shared: Arc<Shared>,
    message_id: MessageId,
    is_given: bool,
}

impl OwedAnswer {
    fn give(&mut self, result: Result<Payload, Failure>) -> Result<(), Failure> {
        if std::mem::replace(&mut self.is_given, true) {
            return Ok(());
        }
        let message_id = self.message_id.clone();
        self.shared
            .emit(OneWayCommand::AnswerRequest { message_id, result })
    }
}

impl Drop for OwedAnswer {
    fn drop(&mut self) {
        let unanswered = Failure::new(
            FailureKind::Unanswered,
            "the orchestration took the request and did not answer it",
        );
        // What is dropped with its execution is answered at the end of that.
        let _ = self.give(Err(unanswered));
    }
}

/// A request that was made of another instance.
#[derive(Debug)]
#[must_use = "a request is made when the future is first polled"]
pub struct SentRequest<O, E> {
    operation: DurableOperation,
    subject: PayloadSubject,
    types: PhantomData<fn() -> (O, E)>,
}

impl<O: DeserializeOwned, E: DeserializeOwned> Future for SentRequest<O, E> {
    type Output = Result<O, RequestFailure<E>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let answer = ready!(this.operation.poll_value(&this.subject, cx));
        Poll::Ready(answer.map_err(RequestFailure::of))
    }
}
