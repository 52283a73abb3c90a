//! Stores with one mistake each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use durable_core::provider::{
    CommitOutcome, Committed, FiredTimers, IdReuse, Layer, Layered, Lease, Message, MessageBody,
    OutgoingMessage, Provider, ProviderError, ReadyInstances, SendOutcome, SessionId,
    SettleOutcome, StartOutcome, TurnCommit, WorkResult, WorkSettlement,
};
use durable_core::{EarlierAttempts, InstanceId};
use durable_testkit::MemoryProvider;

/// Puts a mistake around each handle on one store.
pub(crate) type Mistaken = Box<dyn Fn(MemoryProvider) -> Arc<dyn Provider> + Send + Sync>;

/// A store with a mistake. All handles on it share the fields.
macro_rules! broken {
    ($make:ident, $name:ident { $($field:ident: $type:ty),* } $($method:item)*) => {
        struct $name {
            inner: MemoryProvider,
            $($field: Arc<Mutex<$type>>,)*
        }

        pub(crate) fn $make() -> Mistaken {
            $(let $field = Arc::<Mutex<$type>>::default();)*
            Box::new(move |inner| {
                $(let $field = Arc::clone(&$field);)*
                Arc::new(Layered($name { inner, $($field,)* }))
            })
        }

        #[async_trait]
        impl Layer for $name {
            type Inner = MemoryProvider;

            fn inner(&self) -> &MemoryProvider {
                &self.inner
            }

            $($method)*
        }
    };
}

broken! {
    forgets_the_fence, ForgetsTheFence { latest: BTreeMap<InstanceId, Lease> }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let ready = self.inner.fetch_instances(session, max).await?;
        let mut latest = self.latest.lock().unwrap();
        for instance in &ready.instances {
            let lease = instance.lease.clone();
            latest.insert(lease.instance.clone(), lease);
        }
        Ok(ready)
    }

    /// Takes every session that commits for the owner.
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let outcome = self.inner.commit(Arc::clone(&turn)).await?;
        let latest = self.latest.lock().unwrap().get(&turn.lease.instance).cloned();
        match (outcome, latest) {
            (CommitOutcome::Fenced, Some(lease)) => {
                Arc::make_mut(&mut turn).lease = lease;
                self.inner.commit(turn).await
            }
            (outcome, _) => Ok(outcome),
        }
    }
}

broken! {
    hands_out_what_is_held, HandsOutWhatIsHeld { calls: u64 }

    /// Now and then everything is free again.
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let is_due = {
            let mut calls = self.calls.lock().unwrap();
            *calls += 1;
            calls.is_multiple_of(20)
        };
        if is_due {
            let snapshot = self.inner.snapshot();
            for (id, instance) in &snapshot.instances {
                if instance.holder.is_some() && !instance.record.status.kind().is_ended() {
                    let failure = durable_core::Failure::application("broken", "broken");
                    let _ = self.inner.suspend(id, failure).await?;
                    let _ = self.inner.resume(id).await?;
                }
            }
        }
        self.inner.fetch_instances(session, max).await
    }
}

broken! {
    mixes_up_answers, MixesUpAnswers {}

    /// Keeps another answer than the code gave.
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        for answer in &mut Arc::make_mut(&mut turn).answers {
            answer.result = Ok("0".into());
        }
        self.inner.commit(turn).await
    }
}

broken! {
    loses_events, LosesEvents {}

    /// Accepts every event and keeps those that are no multiple of three.
    async fn send(&self, sent: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        match &sent.message.body {
            MessageBody::ExternalRaised { data, .. }
                if data.parse::<u64>().is_ok_and(|item| item.is_multiple_of(3)) =>
            {
                Ok(SendOutcome::Accepted)
            }
            _ => self.inner.send(sent).await,
        }
    }
}

broken! {
    loses_starts, LosesStarts {}

    /// Acknowledges starts and forgets some of them.
    async fn start(
        &self,
        instance: &InstanceId,
        message: Message,
        reuse: IdReuse,
    ) -> Result<StartOutcome, ProviderError> {
        if instance.ends_with('7') {
            let execution_id = durable_core::ExecutionId::FIRST;
            let seen = None;
            return Ok(StartOutcome::Started { execution_id, seen });
        }
        self.inner.start(instance, message, reuse).await
    }
}

broken! {
    says_done, SaysDone { commits: u64 }

    /// Says that a commit is done before it is, and forgets it.
    async fn commit(&self, turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let is_due = {
            let mut commits = self.commits.lock().unwrap();
            *commits += 1;
            commits.is_multiple_of(20)
        };
        if is_due {
            return Ok(CommitOutcome::Done(Committed::default()));
        }
        self.inner.commit(turn).await
    }
}

broken! {
    fires_early, FiresEarly {}

    /// Tells an instance of its timer up to a second early.
    async fn fire_timers(&self, max: usize) -> Result<FiredTimers, ProviderError> {
        let fired = self.inner.fire_timers(max).await?;
        let snapshot = self.inner.snapshot();
        let mut timers = snapshot.timers.into_iter();
        if let Some(timer) = timers.find(|timer| timer.due_ms <= snapshot.now_ms + 1_000) {
            let message_id = format!("early-{}", timer.source.event_id);
            let body = MessageBody::TimerFired {
                execution_id: timer.source.execution_id,
                source_event_id: timer.source.event_id,
                fire_at_ms: timer.due_ms,
            };
            let message = Message::new(message_id.into(), body);
            let early = OutgoingMessage::new(timer.instance, message);
            let _ = self.inner.send(early).await?;
        }
        Ok(fired)
    }
}

broken! {
    loses_results, LosesResults {}

    /// Takes finished work back and forgets its result.
    async fn settle_work(
        &self,
        settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        match settlement.result {
            WorkResult::Finished(Ok(_)) => Ok(SettleOutcome::Settled),
            _ => self.inner.settle_work(settlement).await,
        }
    }
}

broken! {
    forgets_the_ended, ForgetsTheEnded {}

    /// Takes ended instances out of the queue and gives them to no session.
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.inner.fetch_instances(session, max).await?;
        let snapshot = self.inner.snapshot();
        ready.instances.retain(|ready| {
            let instance = snapshot.instances.get(&ready.lease.instance);
            instance.is_some_and(|instance| !instance.record.status.kind().is_ended())
        });
        Ok(ready)
    }
}

broken! {
    invents_results, InventsResults {}

    /// Answers for activities that no worker ran.
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Result<CommitOutcome, ProviderError> {
        let turn_with_results = Arc::make_mut(&mut turn);
        for work in std::mem::take(&mut turn_with_results.new_work) {
            let source = work.source;
            let body = MessageBody::ActivityFinished {
                execution_id: source.execution_id,
                source_event_id: source.event_id,
                result: Ok("1".into()),
                earlier_attempts: EarlierAttempts::NONE,
            };
            let message_id = format!("invented-{}", source.event_id);
            let message = Message::new(message_id.into(), body);
            let target = turn_with_results.lease.instance.clone();
            let result = OutgoingMessage::new(target, message);
            turn_with_results.new_messages.push(result);
        }
        self.inner.commit(turn).await
    }
}

broken! {
    garbles_results, GarblesResults {}

    /// Takes finished work back and stores another result.
    async fn settle_work(
        &self,
        mut settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        if let WorkResult::Finished(Ok(result)) = &mut settlement.result
            && result.parse::<u64>().is_ok()
        {
            *result = "1000000".into();
        }
        self.inner.settle_work(settlement).await
    }
}

broken! {
    forgets_poison, ForgetsPoison {}

    /// Tells the instance, and throws away what there is to inspect.
    async fn settle_work(
        &self,
        mut settlement: WorkSettlement,
    ) -> Result<SettleOutcome, ProviderError> {
        if let WorkResult::Poisoned(failure) = settlement.result {
            settlement.result = WorkResult::Finished(Err(failure));
        }
        self.inner.settle_work(settlement).await
    }
}
