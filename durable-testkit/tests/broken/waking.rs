//! Faults of waiting.

use std::future;

use durable_core::InstanceId;
use durable_core::provider::{
    IdReuse, Message, Provider, ProviderError, SessionId, StartOutcome, WakeSeq, WakeTopic,
};

use super::fault;

fault! {
    /// Looks only at what happens after the wait began.
    ForgetsWhatWasSeen {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        _seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let seen = self.store.fire_timers(0).await?.seen;
        self.store.wait(session, topic, seen).await
    }
}

fault! {
    /// Wakes no waiter about instances.
    WakesNoWaiter {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        if *topic == WakeTopic::Instances {
            future::pending::<()>().await;
        }
        self.store.wait(session, topic, seen).await
    }
}

fault! {
    /// Looks only at the first queue.
    WatchesOneQueue {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        let topic = match topic {
            WakeTopic::Work(queues) => WakeTopic::Work(queues[..1].to_vec()),
            other => other.clone(),
        };
        self.store.wait(session, &topic, seen).await
    }
}

fault! {
    /// Goes on waiting for a session that has ended.
    WaitsForTheDead {}
    async fn wait(
        &self,
        _session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        self.store.wait(None, topic, seen).await
    }
}

fault! {
    /// Wakes no worker whose work was cancelled.
    CancelsInSilence {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        if *topic == WakeTopic::Cancellations {
            future::pending::<()>().await;
        }
        self.store.wait(session, topic, seen).await
    }
}

fault! {
    /// Wakes no waiter when an instance stopped.
    EndsInSilence {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        if matches!(topic, WakeTopic::Stop(_)) {
            future::pending::<()>().await;
        }
        self.store.wait(session, topic, seen).await
    }
}

fault! {
    /// Wakes no waiter when a stream has new items.
    PushesInSilence {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        if matches!(topic, WakeTopic::Streams(_)) {
            future::pending::<()>().await;
        }
        self.store.wait(session, topic, seen).await
    }
}

fault! {
    /// Wakes no waiter when a view changed.
    PublishesInSilence {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        if matches!(topic, WakeTopic::Views(_)) {
            future::pending::<()>().await;
        }
        self.store.wait(session, topic, seen).await
    }
}

fault! {
    /// Wakes no waiter when an instance was suspended.
    SuspendsInSilence {}
    async fn wait(
        &self,
        session: Option<SessionId>,
        topic: &WakeTopic,
        mut seen: WakeSeq,
    ) -> Result<WakeSeq, ProviderError> {
        loop {
            seen = self.store.wait(session, topic, seen).await?;
            let WakeTopic::Stop(instance) = topic else {
                return Ok(seen);
            };
            let record = self.store.instance(instance).await?;
            if record.is_none_or(|record| record.status.kind().is_ended()) {
                return Ok(seen);
            }
        }
    }
}

fault! {
    /// Has the client that started an instance wait from later on than its end.
    StartsWithTheFuture {}
    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        let outcome = self.store.start(instance, message, reuse).await?;
        Ok(match outcome {
            StartOutcome::Started {
                execution_id,
                seen: Some(WakeSeq(seen)),
            } => StartOutcome::Started {
                execution_id,
                seen: Some(WakeSeq(seen + 1_000)),
            },
            other => other,
        })
    }
}

fault! {
    /// Has a client that repeats a start wait for what may have been long ago.
    TakesRepeatsForStarts {}
    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        let outcome = self.store.start(instance, message, reuse).await?;
        Ok(match outcome {
            StartOutcome::Started {
                execution_id,
                seen: None,
            } => StartOutcome::Started {
                execution_id,
                seen: Some(self.store.fire_timers(0).await?.seen),
            },
            other => other,
        })
    }
}
