//! Faults in what is kept and shown of streams.

use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, EmitOutcome, EmitRequest, Provider, ProviderError, StreamList, StreamPage,
    TurnCommit,
};
use durable_core::{InstanceId, Name};

use super::{fault, locked};

type Emitted = Result<EmitOutcome, ProviderError>;
type Page = Result<StreamPage, ProviderError>;

fault! {
    /// Keeps one item of a turn.
    PushesOne {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        Arc::make_mut(&mut turn).pushes.truncate(1);
        self.store.commit(turn).await
    }
}

fault! {
    /// Takes every attempt for the first, and its items for one.
    ForgetsAttempts {}
    async fn emit(&self, mut emitted: EmitRequest) -> Emitted {
        emitted.attempt = 1;
        self.store.emit(emitted).await
    }
}

fault! {
    /// Numbers items itself.
    EmitsAgain { next: u64 }
    async fn emit(&self, mut emitted: EmitRequest) -> Emitted {
        {
            let mut next = locked(&self.next);
            emitted.first_number = *next;
            *next += emitted.items.len() as u64;
        }
        self.store.emit(emitted).await
    }
}

fault! {
    /// Says of everything that it was added.
    TrustsEveryEmit {}
    async fn emit(&self, emitted: EmitRequest) -> Emitted {
        self.store.emit(emitted).await.map(|_| EmitOutcome::Added)
    }
}

fault! {
    /// Counts items from 1.
    CountsFromOne {}
    async fn stream(&self, id: &InstanceId, stream: &Name, from: u64, max: usize) -> Page {
        let mut page = self.store.stream(id, stream, from, max).await?;
        page.items.iter_mut().for_each(|item| item.offset += 1);
        Ok(page)
    }
}

fault! {
    /// Lists the first page again and again, but for the last of it.
    SkipsStreams {}
    async fn streams(
        &self,
        id: &InstanceId,
        after: Option<&Name>,
        max: usize,
    ) -> Result<StreamList, ProviderError> {
        let mut list = self.store.streams(id, after, max).await?;
        if after.is_some() {
            list.streams.pop();
        }
        Ok(list)
    }
}

fault! {
    /// Knows no capital letters.
    MixesStreams {}
    async fn stream(&self, id: &InstanceId, stream: &Name, from: u64, max: usize) -> Page {
        let stream = stream.to_lowercase().into();
        self.store.stream(id, &stream, from, max).await
    }
}

fault! {
    /// Says that nothing was ever removed.
    HidesWhatIsGone {}
    async fn stream(&self, id: &InstanceId, stream: &Name, from: u64, max: usize) -> Page {
        let mut page = self.store.stream(id, stream, from, max).await?;
        page.bounds.first = 0;
        Ok(page)
    }
}
