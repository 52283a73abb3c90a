//! Faults of timers.

use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, FiredTimers, Message, MessageBody, OutgoingMessage, Provider, ProviderError,
    SourceEvent, TurnCommit,
};
use durable_core::{Event, InstanceId};

use super::{change, fault, locked};

type Answer = Result<CommitOutcome, ProviderError>;

fault! {
    /// Fires a second early.
    FiresEarly {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        for entry in &mut Arc::make_mut(&mut turn).events {
            if let Event::TimerCreated { fire_at_ms, .. } = &mut entry.event {
                *fire_at_ms -= 1_000;
            }
        }
        self.store.commit(turn).await
    }
}

fault! {
    /// Fires each timer with every call.
    FiresAgain { timers: Vec<(InstanceId, SourceEvent, u64)> }
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        let timers = turn.new_timers.iter().filter_map(|timer| {
            Some((turn.lease.instance.clone(), *timer, turn.timer_due_ms(*timer)?))
        });
        locked(&self.timers).extend(timers);
        self.store.commit(turn).await
    }

    async fn fire_timers(&self, max: usize) -> Result<FiredTimers, ProviderError> {
        let fired = self.store.fire_timers(max).await?;
        let timers = locked(&self.timers).clone();
        let now_ms = self.store.now_ms();
        for (target, source, fire_at_ms) in timers {
            if fire_at_ms <= now_ms {
                let body = MessageBody::TimerFired {
                    execution_id: source.execution_id,
                    source_event_id: source.event_id,
                    fire_at_ms,
                };
                let message = Message::new("fired-again".into(), body);
                let _ = self.store.send(OutgoingMessage::new(target, message)).await?;
            }
        }
        Ok(fired)
    }
}

fault! {
    /// Sets the timers of a turn in the wrong order.
    ShufflesTimers {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        change(&mut turn, |turn| turn.new_timers.reverse());
        self.store.commit(turn).await
    }
}

fault! {
    /// Does not cancel timers.
    FiresCancelledTimers {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        change(&mut turn, |turn| turn.cancelled_timers.clear());
        self.store.commit(turn).await
    }
}

fault! {
    /// Does not say when the next timer is due.
    HidesTheNextTimer {}
    async fn fire_timers(&self, max: usize) -> Result<FiredTimers, ProviderError> {
        let mut fired = self.store.fire_timers(max).await?;
        fired.next_due_ms = None;
        Ok(fired)
    }
}
