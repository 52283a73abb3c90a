//! The orchestration dispatcher: ready instances become holdings, and messages
//! for held ones go to their holders.

use std::sync::Arc;

use durable_core::provider::{ReadyInstance, WakeTopic};

use super::holding;
use super::wait::{self, Backoff};
use crate::node::Node;
use crate::turn::Arrival;

/// How many instances are fetched at once. Few: what runs comes to its end while the
/// rest waits in the store, and turns overlap with the commits of others instead of
/// all arriving together.
const BATCH: usize = 32;

/// Fetches ready instances until the node drains.
pub(crate) async fn serve_instances(node: Arc<Node>) {
    let mut backoff = Backoff::default();
    while !node.draining.is_cancelled() {
        let max = node.turn_slots.available_permits().clamp(1, BATCH);
        node.holders.fetch_begins();
        let fetch = node
            .provider
            .fetch_instances(node.session, max, node.clock.now_ms());
        let ready = match fetch.await {
            Ok(ready) => ready,
            Err(error) => {
                wait::out_lost_answer(&node, &mut backoff, &error).await;
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
            let news = wait::for_news(&node, &WakeTopic::Instances, ready.seen, ready.next_due_ms);
            tokio::select! {
                biased;
                () = news => {}
                () = node.look_again.notified() => {}
            }
        } else {
            wait_for_a_slot(&node).await;
        }
    }
}

/// The holder is known before its task runs, so that what comes next finds it.
fn take_over(node: &Arc<Node>, mut ready: ReadyInstance) {
    let arrivals: Vec<Arrival> = std::mem::take(&mut ready.messages)
        .into_iter()
        .map(|message| Arrival::of(message, &node.coding))
        .collect();
    if let Some(channel) = node.holders.take_over(&ready.lease, &arrivals) {
        node.spawn(holding::hold(Arc::clone(node), ready, arrivals, channel));
    }
}

async fn wait_for_a_slot(node: &Node) {
    tokio::select! {
        biased;
        () = node.draining.cancelled() => {}
        _ = node.turn_slots.acquire() => {}
    }
}
