//! What clients ask for: start, send, suspend, resume.

use durable_core::provider::{
    IdReuse, InstanceStatus, Message, MessageBody, OutgoingMessage, ProviderError, SendOutcome,
    StartOutcome,
};
use durable_core::{ExecutionId, Failure, InstanceId};

use crate::codec::{message_bytes, status_bytes, status_kind};
use crate::error::unexpected;
use crate::script::{self, Call};
use crate::store::Store;
use crate::turn::{push_message, push_messages_of, push_start};

impl Store {
    pub(crate) async fn start(
        &self,
        id: &InstanceId,
        message: &Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        self.options.limits.check_message(id, message)?;
        let MessageBody::Start(start) = &message.body else {
            return Err(ProviderError::Invalid {
                reason: format!("the message that starts `{id}` is no start"),
            });
        };
        let mut call = Call::new(&script::START, self.partition(id));
        call.instance(id)
            .push(match reuse {
                IdReuse::Refuse => "refuse",
                IdReuse::UseRunning => "running",
                IdReuse::RestartEnded => "restart",
            })
            .push(message.message_id.as_str())
            .push(message_bytes(message)?);
        push_start(&mut call.args, start)?;
        push_messages_of(&mut call.args, id, start)?;
        let before = self.wakeups.seen();
        let (status, mut reply) = self.call(&call).await?;
        let execution_id = ExecutionId::new(reply.number()?);
        match status.as_str() {
            "STARTED" => Ok(StartOutcome::Started {
                execution_id,
                seen: Some(before),
            }),
            "AGAIN" => Ok(StartOutcome::Started {
                execution_id,
                seen: None,
            }),
            "RUNNING" => Ok(StartOutcome::AlreadyRunning { execution_id }),
            "TAKEN" => Ok(StartOutcome::Taken {
                execution_id,
                status: status_kind(&reply.text()?).ok_or_else(|| unexpected("a status"))?,
            }),
            other => Err(Self::unexpected_status(&call, other)),
        }
    }

    pub(crate) async fn send(
        &self,
        outgoing: &OutgoingMessage,
    ) -> Result<SendOutcome, ProviderError> {
        outgoing.check_sent_by_client()?;
        let OutgoingMessage {
            target, message, ..
        } = outgoing;
        self.options.limits.check_message(target, message)?;
        let mut call = Call::new(&script::SEND, self.partition(target));
        call.instance(target);
        push_message(&mut call.args, outgoing, None)?;
        self.call_for_outcome(&call).await
    }

    pub(crate) async fn suspend(
        &self,
        id: &InstanceId,
        failure: Failure,
    ) -> Result<SendOutcome, ProviderError> {
        self.options.limits.check_failure(&failure)?;
        let status = status_bytes(&InstanceStatus::Suspended { failure })?;
        self.set_suspended(id, Some(status)).await
    }

    pub(crate) async fn resume(&self, id: &InstanceId) -> Result<SendOutcome, ProviderError> {
        self.set_suspended(id, None).await
    }

    async fn set_suspended(
        &self,
        id: &InstanceId,
        status: Option<Vec<u8>>,
    ) -> Result<SendOutcome, ProviderError> {
        let mut call = Call::new(&script::SUSPEND, self.partition(id));
        call.instance(id).optional(status);
        self.call_for_outcome(&call).await
    }

    async fn call_for_outcome(&self, call: &Call<'_>) -> Result<SendOutcome, ProviderError> {
        let (status, _) = self.call(call).await?;
        match status.as_str() {
            "ACCEPTED" => Ok(SendOutcome::Accepted),
            "UNKNOWN" => Ok(SendOutcome::UnknownInstance),
            "ENDED" => Ok(SendOutcome::InstanceEnded),
            other => Err(Self::unexpected_status(call, other)),
        }
    }
}
