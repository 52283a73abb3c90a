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
use crate::turn::{invalid, prepare_send, push_start};

impl Store {
    pub(crate) async fn start(
        &self,
        id: &InstanceId,
        message: &Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        self.options.limits.check_message(id, message)?;
        let MessageBody::Start(start) = &message.body else {
            return invalid(format!("the message that starts `{id}` is no start"));
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
        push_start(&mut call.args, start);
        let before = self.board.seen();
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
        messages: Vec<OutgoingMessage>,
    ) -> Result<Vec<SendOutcome>, ProviderError> {
        for outgoing in &messages {
            self.options
                .limits
                .check_message(&outgoing.target, &outgoing.message)?;
            if matches!(outgoing.message.body, MessageBody::Start(_)) {
                return invalid(format!(
                    "a start for `{}` is sent as a message",
                    outgoing.target
                ));
            }
        }
        let mut outcomes = vec![SendOutcome::Accepted; messages.len()];
        for (partition, group) in self.by_partition(messages, |outgoing| &outgoing.target) {
            let call = prepare_send(partition, &group)?;
            let (_, mut reply) = self.call(&call).await?;
            for (place, _) in &group {
                outcomes[*place] = outcome(&reply.text()?)?;
            }
        }
        Ok(outcomes)
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
        let (status, _) = self.call(&call).await?;
        outcome(&status)
    }
}

fn outcome(text: &str) -> Result<SendOutcome, ProviderError> {
    match text {
        "accepted" => Ok(SendOutcome::Accepted),
        "unknown" => Ok(SendOutcome::UnknownInstance),
        "ended" => Ok(SendOutcome::InstanceEnded),
        other => Err(unexpected(format_args!("`{other}` for an outcome"))),
    }
}
