//! Stores with one mistake each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use durable_core::InstanceId;
use durable_core::provider::{
    CommitOutcome, Committed, IdReuse, Lease, Message, MessageBody, OutgoingMessage, Provider,
    ProviderError, ReadyInstances, SendOutcome, SessionId, StartOutcome, TurnCommit, WorkResult,
    WorkSettlement,
};
use durable_testkit::{Layer, Layered, MemoryProvider};

macro_rules! broken {
    ($make:ident, $name:ident { $($field:ident: $type:ty),* } $($method:item)*) => {
        #[derive(Clone)]
        struct $name {
            inner: MemoryProvider,
            $($field: $type,)*
        }

        pub(crate) fn $make(inner: MemoryProvider) -> Arc<dyn Provider> {
            Arc::new(Layered($name { inner, $($field: Default::default(),)* }))
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
    forgets_the_fence, ForgetsTheFence { latest: Arc<Mutex<BTreeMap<InstanceId, Lease>>> }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let ready = self.inner.fetch_instances(session, max, now_ms).await?;
        let mut latest = self.latest.lock().unwrap();
        for instance in &ready.instances {
            let lease = instance.lease.clone();
            latest.insert(lease.instance.clone(), lease);
        }
        Ok(ready)
    }

    /// Takes every session that commits for the owner.
    async fn commit(&self, turns: Vec<TurnCommit>) -> Vec<Result<CommitOutcome, ProviderError>> {
        let mut answers = Vec::new();
        for turn in turns {
            let answer = self.inner.commit(vec![turn.clone()]).await.pop().unwrap();
            let latest = self.latest.lock().unwrap().get(&turn.lease.instance).cloned();
            answers.push(match (answer, latest) {
                (Ok(CommitOutcome::Fenced), Some(lease)) => {
                    let turn = TurnCommit { lease, ..turn };
                    self.inner.commit(vec![turn]).await.pop().unwrap()
                }
                (answer, _) => answer,
            });
        }
        answers
    }
}

broken! {
    hands_out_what_is_held, HandsOutWhatIsHeld { calls: Arc<Mutex<u64>> }

    /// Now and then everything is free again.
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
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
                    let _ = self.inner.suspend(id, failure, now_ms).await?;
                    let _ = self.inner.resume(id, now_ms).await?;
                }
            }
        }
        self.inner.fetch_instances(session, max, now_ms).await
    }
}

broken! {
    loses_events, LosesEvents {}

    /// Accepts every event and keeps those that are no multiple of three.
    async fn send(
        &self,
        messages: Vec<OutgoingMessage>,
        now_ms: u64,
    ) -> Result<Vec<SendOutcome>, ProviderError> {
        let is_lost = |sent: &OutgoingMessage| match &sent.message.body {
            MessageBody::ExternalRaised { data, .. } => {
                data.parse::<u64>().is_ok_and(|item| item.is_multiple_of(3))
            }
            _ => false,
        };
        if messages.iter().any(is_lost) {
            return Ok(vec![SendOutcome::Accepted; messages.len()]);
        }
        self.inner.send(messages, now_ms).await
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
        now_ms: u64,
    ) -> Result<StartOutcome, ProviderError> {
        if instance.ends_with('7') {
            let execution_id = durable_core::ExecutionId::FIRST;
            let seen = None;
            return Ok(StartOutcome::Started { execution_id, seen });
        }
        self.inner.start(instance, message, reuse, now_ms).await
    }
}

broken! {
    says_done, SaysDone { commits: Arc<Mutex<u64>> }

    /// Says that a commit is done before it is, and forgets it.
    async fn commit(&self, turns: Vec<TurnCommit>) -> Vec<Result<CommitOutcome, ProviderError>> {
        let is_due = {
            let mut commits = self.commits.lock().unwrap();
            *commits += 1;
            commits.is_multiple_of(20)
        };
        if is_due {
            return turns
                .iter()
                .map(|_| Ok(CommitOutcome::Done(Committed::default())))
                .collect();
        }
        self.inner.commit(turns).await
    }
}

broken! {
    fires_early, FiresEarly {}

    /// Sets timers a second early, and tells no caller.
    async fn commit(&self, mut turns: Vec<TurnCommit>) -> Vec<Result<CommitOutcome, ProviderError>> {
        for turn in &mut turns {
            for timer in &mut turn.new_timers {
                timer.fire_at_ms -= 1_000;
            }
        }
        self.inner.commit(turns).await
    }

    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.inner.fetch_instances(session, max, now_ms).await?;
        for inbox in ready.instances.iter_mut().flat_map(|ready| &mut ready.messages) {
            if let MessageBody::TimerFired { fire_at_ms, .. } = &mut inbox.message.body {
                *fire_at_ms += 1_000;
            }
        }
        Ok(ready)
    }
}

broken! {
    loses_results, LosesResults {}

    /// Takes finished work back and forgets its result.
    async fn settle_work(
        &self,
        settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        let is_finished =
            |settlement: &WorkSettlement| matches!(settlement.result, WorkResult::Finished(Ok(_)));
        if settlements.iter().any(is_finished) {
            return Ok(vec![true; settlements.len()]);
        }
        self.inner.settle_work(settlements, now_ms).await
    }
}

broken! {
    forgets_the_ended, ForgetsTheEnded {}

    /// Takes ended instances out of the queue and gives them to no session.
    async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
        now_ms: u64,
    ) -> Result<ReadyInstances, ProviderError> {
        let mut ready = self.inner.fetch_instances(session, max, now_ms).await?;
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
    async fn commit(&self, mut turns: Vec<TurnCommit>) -> Vec<Result<CommitOutcome, ProviderError>> {
        for turn in &mut turns {
            for item in turn.new_work.drain(..) {
                turn.new_messages.push(OutgoingMessage {
                    target: item.key.instance,
                    message: Message {
                        message_id: format!("invented-{}", item.key.event_id).into(),
                        body: MessageBody::ActivityFinished {
                            execution_id: item.key.execution_id,
                            source_event_id: item.key.event_id,
                            result: Ok("1".into()),
                        },
                    },
                });
            }
        }
        self.inner.commit(turns).await
    }
}

broken! {
    garbles_results, GarblesResults {}

    /// Takes finished work back and stores another result.
    async fn settle_work(
        &self,
        mut settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        for settlement in &mut settlements {
            if let WorkResult::Finished(Ok(result)) = &mut settlement.result
                && result.parse::<u64>().is_ok()
            {
                *result = "1000000".into();
            }
        }
        self.inner.settle_work(settlements, now_ms).await
    }
}

broken! {
    forgets_poison, ForgetsPoison {}

    /// Tells the instance, and throws away what there is to inspect.
    async fn settle_work(
        &self,
        mut settlements: Vec<WorkSettlement>,
        now_ms: u64,
    ) -> Result<Vec<bool>, ProviderError> {
        for settlement in &mut settlements {
            if let WorkResult::Poisoned(failure) = &settlement.result {
                settlement.result = WorkResult::Finished(Err(failure.clone()));
            }
        }
        self.inner.settle_work(settlements, now_ms).await
    }
}
