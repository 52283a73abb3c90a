//! Handing instances out and taking them back without a commit.
//!
//! A look says what is ready; then those are taken whose keys can be declared. What
//! somebody else took in between is simply not there.

use durable_core::provider::{
    ClaimedWork, CommitId, InboxMessage, InboxSeq, Lease, ProviderError, ReadyInstance,
    ReadyInstances, Release, SessionId,
};
use durable_core::{EventId, ExecutionId, Failure, FailureKind, InstanceId};
use futures::future::join_all;

use crate::codec::{failure_bytes, message_of};
use crate::error::unexpected;
use crate::keys::Partition;
use crate::reply::{Claimed, Reply};
use crate::script::{self, Call};
use crate::store::Store;

/// How many instances one script hands out at most: it must not keep others waiting.
const TOGETHER: usize = 128;
/// How many one fetch hands out at most.
const MOST: usize = 4_096;

/// An instance that may be handed out.
struct Candidate<'a> {
    at_ms: u64,
    partition: &'a Partition,
    id: InstanceId,
}

impl Store {
    pub(crate) async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let (seen, max) = (self.board.seen(), max.min(MOST));
        let peek = |partition| {
            let mut call = Call::new(&script::PEEK_INSTANCES, partition);
            call.args.number(session.0).count(max);
            call
        };
        let mut ready = ReadyInstances {
            seen,
            ..ReadyInstances::default()
        };
        let mut candidates = Vec::new();
        for (partition, mut reply) in self.call_everywhere(Some(session), peek).await? {
            ready.now_ms = ready.now_ms.max(reply.number()?);
            let due_ms = reply.maybe_time()?;
            ready.next_due_ms = ready.next_due_ms.into_iter().chain(due_ms).min();
            let mut found = reply.list()?;
            while !found.is_empty() {
                let id = InstanceId::from(found.text()?);
                let at_ms = found.number()?;
                candidates.push(Candidate {
                    at_ms,
                    partition,
                    id,
                });
            }
        }
        candidates.sort_by_key(|candidate| candidate.at_ms);
        candidates.truncate(max);
        ready.instances = self.take_instances(session, candidates).await?;
        Ok(ready)
    }

    async fn take_instances(
        &self,
        session: SessionId,
        candidates: Vec<Candidate<'_>>,
    ) -> Result<Vec<ReadyInstance>, ProviderError> {
        let groups = self.by_partition(candidates, |candidate| &candidate.id);
        let takes = groups.iter().flat_map(|(_, group)| group.chunks(TOGETHER));
        let takes = takes.map(|group| self.take_together(session, group));
        let mut taken = Vec::new();
        let mut failed = None;
        for answer in join_all(takes).await {
            match answer {
                Ok(ready) => taken.extend(ready),
                // What others gave is in this session's hands: it must not get lost.
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if taken.is_empty() || !error.is_retryable() => Err(error),
            _ => {
                taken.sort_by_key(|(place, _)| *place);
                Ok(taken.into_iter().map(|(_, ready)| ready).collect())
            }
        }
    }

    async fn take_together(
        &self,
        session: SessionId,
        group: &[(usize, Candidate<'_>)],
    ) -> Result<Vec<(usize, ReadyInstance)>, ProviderError> {
        let Some((_, first)) = group.first() else {
            return Ok(Vec::new());
        };
        let mut call = Call::new(&script::CLAIM_INSTANCES, first.partition);
        call.args
            .number(session.0)
            .count(self.options.messages_per_fetch.max(1))
            .count(group.len());
        for (_, candidate) in group {
            call.instance(&candidate.id);
        }
        let mut reply = self.call_of(session, &call).await?;
        reply.text()?;
        let mut handed = reply.list()?;
        let mut taken = Vec::new();
        while !handed.is_empty() {
            let mut reply = handed.list()?;
            let id = InstanceId::from(reply.text()?);
            let mut places = group.iter().filter(|(_, candidate)| candidate.id == id);
            let place = places.next().map_or(usize::MAX, |(place, _)| *place);
            match ready_instance(session, id.clone(), &mut reply) {
                Ok(ready) => taken.push((place, ready)),
                Err(error) => self.stop(&id, error).await?,
            }
        }
        let mut broken = reply.list()?;
        while !broken.is_empty() {
            let instance = broken.text()?;
            tracing::error!(
                instance,
                "the record of an instance that was ready is gone: its key was removed from the server; \
                 the instance is stopped"
            );
        }
        Ok(taken)
    }

    /// Takes what of claimed work can be read; instances of the rest are stopped. One that
    /// cannot be stopped now is met again when this session is over: the sound work is in
    /// its hands and must not get lost.
    pub(crate) async fn readable(&self, claimed: Claimed) -> Vec<ClaimedWork> {
        for (id, error) in claimed.damaged {
            if let Err(error) = self.stop(&id, error).await {
                tracing::error!(instance = %id, %error, "a damaged instance was not stopped");
            }
        }
        claimed.work
    }

    /// Stops an instance of which something cannot be read, and it alone.
    async fn stop(&self, id: &InstanceId, error: ProviderError) -> Result<(), ProviderError> {
        let ProviderError::Damaged { reason } = error else {
            return Err(error);
        };
        tracing::error!(instance = %id, reason, "an instance is damaged and was stopped");
        let failure = Failure::new(FailureKind::CorruptHistory, reason);
        let _ = self.suspend(id, failure).await?;
        Ok(())
    }

    pub(crate) async fn release(&self, releases: Vec<Release>) -> Result<(), ProviderError> {
        for release in &releases {
            self.options.limits.check_release(release)?;
        }
        for (partition, group) in self.by_partition(releases, |release| &release.lease.instance) {
            for releases in group.chunks(TOGETHER) {
                let mut call = Call::new(&script::RELEASE, partition);
                call.args.count(releases.len());
                for (_, release) in releases {
                    let blocked = release.blocked.as_ref().map(failure_bytes).transpose()?;
                    call.instance(&release.lease.instance)
                        .number(release.lease.session.0)
                        .number(release.lease.token)
                        .number(release.not_before_ms.unwrap_or(0))
                        .optional(blocked);
                }
                self.call(&call).await?;
            }
        }
        Ok(())
    }
}

fn ready_instance(
    session: SessionId,
    instance: InstanceId,
    reply: &mut Reply,
) -> Result<ReadyInstance, ProviderError> {
    let lease = Lease {
        instance,
        session,
        token: reply.number()?,
    };
    let execution_id = ExecutionId::new(reply.number()?);
    let last_event_id = EventId::new(reply.number()?);
    let last_commit_id = match reply.text()?.as_str() {
        "" => None,
        text => Some(commit_id(text)?),
    };
    let (crashes, has_more) = (reply.number()?, reply.flag()?);
    let mut list = reply.list()?;
    let mut messages = Vec::new();
    while !list.is_empty() {
        let seq = InboxSeq(list.number()?);
        let bytes = list.bytes()?;
        let what = format_args!("message {} of `{}`", seq.0, lease.instance);
        let message = message_of(what, &bytes)?;
        messages.push(InboxMessage { seq, message });
    }
    Ok(ReadyInstance {
        lease,
        execution_id,
        last_event_id,
        last_commit_id,
        messages,
        has_more,
        crashes,
    })
}

fn commit_id(text: &str) -> Result<CommitId, ProviderError> {
    let number = u128::from_str_radix(text, 16);
    number.map(CommitId).map_err(unexpected)
}
