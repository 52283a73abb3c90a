//! What lies between a node or a client and its calls: a mute node's heartbeats are
//! swallowed, and a client's messages are numbered.

use std::sync::Arc;

use async_trait::async_trait;
use durable_core::InstanceId;
use durable_core::provider::{
    IdReuse, Layer, Layered, Message, OutgoingMessage, Provider, ProviderError, SendOutcome,
    SessionId, StartOutcome,
};

use super::clock::SimClock;
use super::faulty_provider::FaultyProvider;
use super::node_life::NodeLife;
use super::observed::ObservedStore;
use super::plan::SimFault;
use super::world::{SimPhase, World};

/// The way of a life of a node to the store, which goes by the node's clock.
pub(crate) fn of_node(world: &Arc<World>, life: &Arc<NodeLife>, clock: SimClock) -> impl Provider {
    Layered(NodeLink(open(world, life, clock)))
}

/// The way of a client to the store. Its clock is right.
pub(crate) fn of_client(world: &Arc<World>, life: &Arc<NodeLife>) -> impl Provider {
    Layered(ClientLink(open(world, life, SimClock::new(world.began))))
}

/// Every life has its own handle on the store, as every process has.
fn open(world: &Arc<World>, life: &Arc<NodeLife>, clock: SimClock) -> FaultyProvider {
    let store = ObservedStore {
        world: Arc::clone(world),
        store: world.open_store(clock),
    };
    FaultyProvider {
        world: Arc::clone(world),
        life: Arc::clone(life),
        store: Arc::new(Layered(store)),
    }
}

struct NodeLink(FaultyProvider);

#[async_trait]
impl Layer for NodeLink {
    type Inner = FaultyProvider;

    fn inner(&self) -> &FaultyProvider {
        &self.0
    }

    /// While the node is mute, it is told that its heartbeat was heard.
    async fn heartbeat(&self, session: SessionId) -> Result<(), ProviderError> {
        let FaultyProvider { world, life, .. } = &self.0;
        if !life.is_mute() || world.phase() != SimPhase::Faults {
            return self.0.heartbeat(session).await;
        }
        let fault = SimFault::SwallowedHeartbeat;
        world.count(fault);
        world.note(&life.who, "heartbeat", Some(fault), session.to_string());
        Ok(())
    }
}

struct ClientLink(FaultyProvider);

impl ClientLink {
    fn number(&self, message: &mut Message) {
        message.message_id = self.0.world.message_id(&message.message_id);
    }
}

#[async_trait]
impl Layer for ClientLink {
    type Inner = FaultyProvider;

    fn inner(&self) -> &FaultyProvider {
        &self.0
    }

    async fn start(
        &self,
        instance: &InstanceId,
        mut message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        self.number(&mut message);
        self.0.start(instance, message, reuse).await
    }

    async fn send(&self, mut sent: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        self.number(&mut sent.message);
        self.0.send(sent).await
    }
}
