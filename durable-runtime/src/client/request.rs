//! Making requests of an instance.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use durable_core::provider::{
    InstanceStatus, Message, MessageBody, OutgoingMessage, RequestAnswer, SendOutcome, WakeSeq,
    WakeTopic,
};
use durable_core::{FailureKind, InstanceId, MessageId, Payload};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::request_error::{Admission, RequestError};
use super::{Client, ClientError, InstanceHandle, fresh_message_id};
use crate::handle::RequestRef;
use crate::payload::{self, PayloadSubject};
use crate::rejection;

/// A request of an instance, made by [`InstanceHandle::request`]: set its options, then await
/// it. Dropping it leaves the request as it is: once it is admitted, it is answered.
#[must_use = "the request is made when this is awaited"]
pub struct RequestCall<A, E> {
    call: Option<Call>,
    begun: Option<AnswerFuture<A, E>>,
}

type AnswerFuture<A, E> = Pin<Box<dyn Future<Output = Result<A, RequestError<E>>> + Send>>;

/// What is asked of which instance.
struct Call {
    instance: InstanceHandle<()>,
    subject: PayloadSubject,
    input: Result<Payload, ClientError>,
    id: Option<MessageId>,
    timeout: Option<Duration>,
}

/// A request on its way, and what is known of its admission.
struct Pending {
    instance: InstanceHandle<()>,
    id: MessageId,
    is_fresh: bool,
    admitted: Admission,
}

impl<A, E> RequestCall<A, E> {
    pub(super) fn new<I: Serialize>(
        client: Client,
        instance: InstanceId,
        request: impl RequestRef<I, A, E>,
        input: &I,
    ) -> Self {
        let subject = PayloadSubject::new("request", request.into_name());
        let input = client.encode("input", &subject, input);
        Self {
            call: Some(Call {
                instance: InstanceHandle::new(client, instance),
                subject,
                input,
                id: None,
                timeout: None,
            }),
            begun: None,
        }
    }

    /// Makes the request under an id of the caller's: made again with the same id, it is not
    /// repeated, and gets the answer that it had. It names the request among all messages to the
    /// instance: an event must not have it, too.
    pub fn id(mut self, id: impl Into<MessageId>) -> Self {
        if let Some(call) = &mut self.call {
            call.id = Some(id.into());
        }
        self
    }

    /// Gives up after this time with [`RequestError::TimedOut`]; by default it never does.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        if let Some(call) = &mut self.call {
            call.timeout = Some(timeout);
        }
        self
    }
}

impl<A: DeserializeOwned + 'static, E: DeserializeOwned + 'static> Future for RequestCall<A, E> {
    type Output = Result<A, RequestError<E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(call) = self.call.take() {
            self.begun = Some(Box::pin(call.make()));
        }
        match &mut self.begun {
            Some(begun) => begun.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }
}

impl<A, E> fmt::Debug for RequestCall<A, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = self.call.as_ref();
        f.debug_struct("RequestCall")
            .field("instance", &call.map(|call| &call.instance.id))
            .field("request", &call.map(|call| &call.subject.name))
            .finish_non_exhaustive()
    }
}

impl Call {
    async fn make<A: DeserializeOwned, E: DeserializeOwned>(self) -> Result<A, RequestError<E>> {
        let is_fresh = self.id.is_none();
        let mut pending = Pending {
            instance: self.instance,
            id: self.id.unwrap_or_else(fresh_message_id),
            is_fresh,
            admitted: Admission::No,
        };
        let input = match self.input {
            Ok(input) => input,
            Err(error) => return Err(pending.not_answered(error)),
        };
        let body = MessageBody::Requested {
            name: self.subject.name.clone(),
            input,
            requester: None,
        };
        let answered = match self.timeout {
            None => pending.answer(body).await,
            Some(timeout) => {
                let deadline = Instant::now() + timeout;
                match tokio::time::timeout_at(deadline, pending.answer(body)).await {
                    Ok(answered) => answered,
                    Err(_) => return Err(pending.timed_out(timeout).await),
                }
            }
        };
        let answer = answered.map_err(|error| pending.not_answered(error))?;
        match answer.result {
            Ok(answer) => payload::decode("answer", &self.subject, None, &answer)
                .map_err(|failure| pending.not_answered(ClientError::InvalidPayload(failure))),
            Err(failure) if failure.kind == FailureKind::InstanceEnded => {
                Err(pending.not_answered(pending.instance.has_ended()))
            }
            Err(failure) => Err(match rejection::typed(&failure) {
                Some(rejection) => RequestError::Rejected(rejection),
                None => RequestError::Failed(failure),
            }),
        }
    }
}

impl Pending {
    /// Sends the request and waits for its answer.
    async fn answer(&mut self, body: MessageBody) -> Result<RequestAnswer, ClientError> {
        self.admit(body).await?;
        let provider = self.instance.client.provider();
        let topic = WakeTopic::Answer(self.instance.id.clone(), self.id.clone());
        let mut seen = WakeSeq::default();
        // A new request was not answered before it was sent.
        if self.is_fresh {
            seen = provider.wait(None, &topic, seen).await?;
        }
        loop {
            if let Some(answer) = self.look().await? {
                return Ok(answer);
            }
            if let Some(stopped) = self.instance.stopped().await? {
                // It may have been answered between the two looks.
                return self.look().await?.ok_or(stopped);
            }
            seen = provider.wait(None, &topic, seen).await?;
        }
    }

    async fn admit(&mut self, body: MessageBody) -> Result<(), ClientError> {
        let message = Message::new(self.id.clone(), body);
        let instance = self.instance.id.clone();
        // Until the store has answered, and whatever an earlier attempt did.
        self.admitted = Admission::Unknown;
        let outgoing = OutgoingMessage::new(instance.clone(), message);
        let outcome = self.instance.client.provider().send(outgoing).await?;
        self.admitted = match outcome {
            SendOutcome::Accepted => Admission::Yes,
            SendOutcome::UnknownInstance => Admission::No,
            SendOutcome::InstanceEnded | SendOutcome::InstanceSuspended if self.is_fresh => {
                Admission::No
            }
            SendOutcome::InstanceEnded | SendOutcome::InstanceSuspended => Admission::Unknown,
        };
        match outcome {
            SendOutcome::InstanceSuspended => match self.instance.stopped().await? {
                Some(stopped) => Err(stopped),
                None => ClientError::check(&instance, outcome),
            },
            other => ClientError::check(&instance, other),
        }
    }

    async fn look(&self) -> Result<Option<RequestAnswer>, ClientError> {
        let provider = self.instance.client.provider();
        let mut answer = provider.answer(&self.instance.id, &self.id).await?;
        self.instance.readable(&mut answer).await?;
        Ok(answer)
    }

    fn not_answered<E>(&self, error: ClientError) -> RequestError<E> {
        RequestError::NotAnswered {
            request_id: self.id.clone(),
            admitted: self.admitted,
            error,
        }
    }

    async fn timed_out<E>(&self, timeout: Duration) -> RequestError<E> {
        let record = self.instance.record().await;
        RequestError::TimedOut {
            instance: self.instance.id.clone(),
            request_id: self.id.clone(),
            admitted: self.admitted,
            timeout,
            blocked: record.ok().and_then(|record| record.blocked),
        }
    }
}

impl InstanceHandle<()> {
    fn has_ended(&self) -> ClientError {
        ClientError::Ended {
            instance: self.id.clone(),
        }
    }

    /// Why the instance answers no requests, if it does not.
    async fn stopped(&self) -> Result<Option<ClientError>, ClientError> {
        let record = match self.stored_record().await {
            Ok(record) => record,
            Err(gone @ ClientError::NotFound { .. }) => return Ok(Some(gone)),
            Err(error) => return Err(error),
        };
        Ok(match record.status {
            InstanceStatus::Suspended { failure } => Some(ClientError::Suspended {
                instance: self.id.clone(),
                failure,
            }),
            InstanceStatus::Completed { .. }
            | InstanceStatus::Failed { .. }
            | InstanceStatus::Terminated { .. } => Some(self.has_ended()),
            InstanceStatus::Pending | InstanceStatus::Running => None,
        })
    }
}
