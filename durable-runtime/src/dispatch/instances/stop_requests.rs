//! Stops instances whose own turns cannot: their code was woken by something that is not
//! durable, or does not return from a poll.

use std::sync::Arc;

use durable_core::provider::{Message, MessageBody, OutgoingMessage, ProviderError};
use durable_core::{Failure, InstanceId, MessageId};
use tokio::sync::mpsc;

use super::{load, stop};
use crate::dispatch::wait::{self, Backoff};
use crate::execution::StopRequest;
use crate::node::Node;
use crate::options::FaultPolicy;

/// Stops what is to be stopped until the session ends.
pub(crate) async fn serve_stop_requests(
    node: Arc<Node>,
    mut stop_requests: mpsc::UnboundedReceiver<StopRequest>,
) {
    loop {
        let StopRequest { instance, cause } = tokio::select! {
            biased;
            () = node.ended.cancelled() => return,
            request = stop_requests.recv() => match request {
                Some(request) => request,
                None => return,
            },
        };
        drop(node.cache.take(&instance));
        let failure = cause.to_failure();
        tracing::error!(%instance, reason = %failure, "an instance cannot go on");
        stop::count(&failure);
        match node.options.fault_policy {
            FaultPolicy::Suspend => suspend(&node, &instance, &failure).await,
            FaultPolicy::Terminate => terminate(&node, &instance, &failure).await,
        }
    }
}

/// Suspends an instance, also one that another node holds.
pub(super) async fn suspend(node: &Node, instance: &InstanceId, failure: &Failure) {
    let mut backoff = Backoff::default();
    loop {
        let suspended = node.provider.suspend(instance, failure.clone());
        let suspended = suspended.await.map(drop);
        if is_settled(node, &mut backoff, suspended).await {
            return resume_to_end(node, instance).await;
        }
    }
}

/// Lets a suspended instance come to its hard stop. The client that asks for one resumes
/// the instance afterwards; if that was before it was suspended, this node must.
pub(super) async fn resume_to_end(node: &Node, instance: &InstanceId) {
    if load::requested_end(node, instance).await.is_none() {
        return;
    }
    let mut backoff = Backoff::default();
    loop {
        let resumed = node.provider.resume(instance);
        let resumed = resumed.await.map(drop);
        if is_settled(node, &mut backoff, resumed).await {
            return;
        }
    }
}

/// Terminates an instance, also one that another node holds.
async fn terminate(node: &Node, instance: &InstanceId, failure: &Failure) {
    let message = Message {
        message_id: MessageId::from(format!("{instance}/stop-request")),
        body: MessageBody::Terminate {
            failure: failure.clone(),
        },
    };
    let outgoing = OutgoingMessage::new(instance.clone(), message);
    let mut backoff = Backoff::default();
    loop {
        let sent = node.provider.send(outgoing.clone()).await.map(drop);
        if is_settled(node, &mut backoff, sent).await {
            return;
        }
    }
}

/// Whether nothing more can be done; an error that may pass is waited out first.
async fn is_settled(node: &Node, backoff: &mut Backoff, done: Result<(), ProviderError>) -> bool {
    match done {
        Ok(()) => true,
        Err(error) if wait::is_passing(&error) => {
            wait::out_error(node, backoff, &error).await;
            node.ended.is_cancelled()
        }
        Err(error) => {
            tracing::error!(%error, "an instance could not be stopped");
            true
        }
    }
}
