//! Faults of timers.

use std::sync::Arc;

use durable_core::provider::{
    CommitOutcome, FiredTimers, Message, MessageBody, OutgoingMessage, Provider, ProviderError,
    ReadyInstances, SessionId, SourceEvent, TurnCommit,
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
    /// Gives the timers that have fired in the wrong order.
    ShufflesTimers {}
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.store.fetch_instances(session, max).await?;
        for instance in &mut ready.instances {
            let is_timer = |message: &&mut Message| {
                matches!(message.body, MessageBody::TimerFired { .. })
            };
            let messages = instance.messages.iter_mut().map(|given| &mut given.message);
            let timers: Vec<&mut Message> = messages.filter(is_timer).collect();
            let mut reversed: Vec<Message> = timers.iter().map(|timer| (**timer).clone()).collect();
            reversed.reverse();
            for (timer, other) in timers.into_iter().zip(reversed) {
                *timer = other;
            }
        }
        Ok(ready)
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
    /// Sets timers for `TimerCreated` alone.
    IgnoresDeadlines {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        change(&mut turn, |turn| {
            let (timers, events) = (&mut turn.new_timers, &turn.events);
            timers.retain(|timer| {
                let mut entries = events.iter();
                entries.any(|entry| {
                    entry.event_id() == timer.event_id
                        && matches!(entry.event, Event::TimerCreated { .. })
                })
            });
        });
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
