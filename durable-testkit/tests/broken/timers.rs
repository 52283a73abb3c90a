//! Faults of timers.

use durable_core::provider::{
    CommitOutcome, FiredTimers, Message, MessageBody, OutgoingMessage, Provider, ProviderError,
    Timer, TurnCommit,
};

use super::{fault, locked};

type Answers = Vec<Result<CommitOutcome, ProviderError>>;

fault! {
    /// Fires a second early.
    FiresEarly {}
    async fn commit(&self, mut turns: Vec<TurnCommit>) -> Answers {
        for timer in turns.iter_mut().flat_map(|turn| &mut turn.new_timers) {
            timer.fire_at_ms -= 1_000;
        }
        self.store.commit(turns).await
    }
}

fault! {
    /// Fires each timer with every call.
    FiresAgain { timers: Vec<Timer> }
    async fn commit(&self, turns: Vec<TurnCommit>) -> Answers {
        let timers = turns.iter().flat_map(|turn| turn.new_timers.clone());
        locked(&self.timers).extend(timers);
        self.store.commit(turns).await
    }

    async fn fire_timers(&self, max: usize, now_ms: u64) -> Result<FiredTimers, ProviderError> {
        let fired = self.store.fire_timers(max, now_ms).await?;
        let timers = locked(&self.timers).clone();
        let due = timers.into_iter().filter(|timer| timer.fire_at_ms <= fired.now_ms);
        let messages = due.map(|timer| OutgoingMessage {
            target: timer.instance,
            message: Message {
                message_id: "fired-again".into(),
                body: MessageBody::TimerFired {
                    execution_id: timer.execution_id,
                    source_event_id: timer.event_id,
                    fire_at_ms: timer.fire_at_ms,
                },
            },
        });
        self.store.send(messages.collect(), now_ms).await?;
        Ok(fired)
    }
}

fault! {
    /// Sets the timers of a turn in the wrong order.
    ShufflesTimers {}
    async fn commit(&self, mut turns: Vec<TurnCommit>) -> Answers {
        for turn in &mut turns {
            turn.new_timers.reverse();
        }
        self.store.commit(turns).await
    }
}

fault! {
    /// Does not cancel timers.
    FiresCancelledTimers {}
    async fn commit(&self, mut turns: Vec<TurnCommit>) -> Answers {
        for turn in &mut turns {
            turn.cancelled_timers.clear();
        }
        self.store.commit(turns).await
    }
}

fault! {
    /// Does not say when the next timer is due.
    HidesTheNextTimer {}
    async fn fire_timers(&self, max: usize, now_ms: u64) -> Result<FiredTimers, ProviderError> {
        let fired = self.store.fire_timers(max, now_ms).await?;
        Ok(FiredTimers { next_due_ms: None, ..fired })
    }
}
