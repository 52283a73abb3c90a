//! The orchestration dispatcher: ready instances become holdings, and messages
//! for held ones go to their holders.

use std::sync::Arc;

use durable_core::provider::{Interest, Message, MessageBody, OutgoingMessage, ReadyInstance};
use durable_core::{Failure, FailureKind, InstanceId, MessageId};
use tokio::sync::mpsc;

use super::holding;
use super::wait::{self, Backoff};
use crate::node::Node;
use crate::options::FaultPolicy;
use crate::turn::Arrival;

/// How many instances are fetched at once.
const BATCH: usize = 64;

/// Fetches ready instances until the node drains.
pub(crate) async fn serve_instances(node: Arc<Node>) {
    let mut backoff = Backoff::default();
    while !node.draining.is_cancelled() {
        let max = node.turn_slots.available_permits().clamp(1, BATCH);
        let fetch = node
            .provider
            .fetch_instances(node.session, max, node.clock.now_ms());
        let ready = match fetch.await {
            Ok(ready) => ready,
            Err(error) => {
                wait::out_error(&node, &mut backoff, &error).await;
                continue;
            }
        };
        backoff = Backoff::default();
        node.saw_store_time(ready.now_ms);
        let fetched = ready.instances.len();
        for instance in ready.instances {
            take_over(&node, instance);
        }
        if fetched < max {
            wait::for_news(&node, &Interest::Instances, ready.seen, ready.next_due_ms).await;
        } else {
            wait_for_a_slot(&node).await;
        }
    }
}

fn take_over(node: &Arc<Node>, ready: ReadyInstance) {
    let instance = ready.lease.instance.clone();
    if node.holds(&instance) {
        for message in ready.messages {
            // A holding that ended in the meantime has given its lease back: the
            // messages are handed out again.
            let _ = node.forward(&instance, Arrival::Message(message));
        }
        return;
    }
    let node = Arc::clone(node);
    let tasks = node.tasks.clone();
    tasks.spawn(holding::hold(node, ready));
}

async fn wait_for_a_slot(node: &Node) {
    tokio::select! {
        biased;
        () = node.draining.cancelled() => {}
        _ = node.turn_slots.acquire() => {}
    }
}

/// Stops instances whose code was woken by something that is not durable.
pub(crate) async fn serve_foreign_wakes(
    node: Arc<Node>,
    mut foreign_wakes: mpsc::UnboundedReceiver<InstanceId>,
) {
    loop {
        let instance = tokio::select! {
            biased;
            () = node.ended.cancelled() => return,
            instance = foreign_wakes.recv() => match instance {
                Some(instance) => instance,
                None => return,
            },
        };
        drop(node.take_cached(&instance));
        let failure = Failure::new(
            FailureKind::DeterminismViolation,
            "the orchestration was woken by something that is not durable, such as \
             `tokio::time::sleep`, a socket or a channel to the outside: use the context's \
             futures, or `run` for a short side effect",
        )
        .not_retryable();
        stop(&node, instance, failure).await;
    }
}

/// Stops an instance that this node does not hold, by policy.
async fn stop(node: &Node, instance: InstanceId, failure: Failure) {
    let now_ms = node.clock.now_ms();
    let mut backoff = Backoff::default();
    loop {
        let stopped = match node.options.fault_policy {
            FaultPolicy::Suspend => node
                .provider
                .suspend(&instance, failure.clone(), now_ms)
                .await
                .map(drop),
            FaultPolicy::Terminate => {
                let message = Message {
                    message_id: MessageId::from(format!("{instance}/foreign-wait")),
                    body: MessageBody::Terminate {
                        reason: failure.message.clone(),
                    },
                };
                let target = instance.clone();
                let outgoing = vec![OutgoingMessage { target, message }];
                node.provider.send(outgoing, now_ms).await.map(drop)
            }
        };
        match stopped {
            Ok(()) => return,
            Err(error) => wait::out_error(node, &mut backoff, &error).await,
        }
        if node.ended.is_cancelled() {
            return;
        }
    }
}
