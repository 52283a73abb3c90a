//! A store with everything encoded that goes into it.
//!
//! What comes out is passed on as it is stored: one value that cannot be read must not
//! keep a node from a whole batch of others.

use std::sync::Arc;

use async_trait::async_trait;
use durable_core::provider::{
    CommitOutcome, EmitOutcome, EmitRequest, HeartbeatOutcome, IdReuse, Layer, Message,
    OutgoingMessage, Provider, ProviderError, SendOutcome, SettleOutcome, StartOutcome, TurnCommit,
    WorkLease, WorkSettlement,
};
use durable_core::{Failure, InstanceId, Payload, VisitPayloads};

use super::{ActiveCodec, PayloadCodecError};

pub(super) struct EncodingStore {
    store: Arc<dyn Provider>,
    codec: ActiveCodec,
}

impl EncodingStore {
    pub(super) fn new(store: Arc<dyn Provider>, codec: ActiveCodec) -> Self {
        Self { store, codec }
    }

    async fn encoded<T: VisitPayloads>(&self, mut value: T) -> Result<T, ProviderError> {
        match self.codec.encode(&mut value).await {
            Ok(()) => Ok(value),
            Err(error) => Err(not_encoded(&error)),
        }
    }
}

/// Nothing has happened.
fn not_encoded(error: &PayloadCodecError) -> ProviderError {
    let reason = format!("a payload could not be encoded: {error}");
    match error.is_permanent() {
        true => ProviderError::NotEncodable { reason },
        false => ProviderError::Unavailable { reason },
    }
}

#[async_trait]
impl Layer for EncodingStore {
    type Inner = Arc<dyn Provider>;

    fn inner(&self) -> &Self::Inner {
        &self.store
    }

    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let turn = self.encoded(Arc::unwrap_or_clone(turn)).await?;
        self.store.commit(Arc::new(turn)).await
    }

    async fn settle_work(
        &self,
        settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        let settlement = self.encoded(settlement).await?;
        self.store.settle_work(settlement).await
    }

    async fn heartbeat_work(
        &self,
        lease: &WorkLease,
        details: Payload,
    ) -> Result<HeartbeatOutcome, ProviderError> {
        let details = self.encoded(details).await?;
        self.store.heartbeat_work(lease, details).await
    }

    async fn emit(&self, emitted: EmitRequest) -> Result<EmitOutcome, ProviderError> {
        let emitted = self.encoded(emitted).await?;
        self.store.emit(emitted).await
    }

    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        let message = self.encoded(message).await?;
        self.store.start(instance, message, reuse).await
    }

    async fn send(&self, message: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        let message = self.encoded(message).await?;
        self.store.send(message).await
    }

    async fn suspend(
        &self,
        instance: &InstanceId,
        reason: Failure,
    ) -> Result<SendOutcome, ProviderError> {
        let reason = self.encoded(reason).await?;
        self.store.suspend(instance, reason).await
    }
}
