//! Claiming instances, and giving their leases back without a commit.
//!
//! A look says what is ready; then those are claimed whose keys can be declared. What another
//! session claimed in between is left out.

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

/// How many instances one script claims or releases at most: it must not keep others waiting.
const TOGETHER: usize = 128;
/// How many one fetch claims at most.
const MAX_FETCH: usize = 4_096;

/// An instance that may be claimed.
struct Candidate<'a> {
    at_ms: u64,
    partition: &'a Partition,
    id: InstanceId,
    /// How a free one is listed: it is claimed only if that is still so.
    listed: Option<String>,
}

impl Store {
    pub(crate) async fn fetch_instances(
        &self,
        session: SessionId,
        max: usize,
    ) -> Result<ReadyInstances, ProviderError> {
        let max = max.min(MAX_FETCH);
        let mut ready = ReadyInstances::default();
        ready.seen = self.wakeups.seen();
        let peek = |partition| {
            let mut call = Call::new(&script::PEEK_INSTANCES, partition);
            call.declare_session(session);
            call.args.number(session.0).count(max);
            call
        };
        let mut candidates = Vec::new();
        for (partition, mut reply) in self.call_everywhere(Some(session), peek).await? {
            let due_ms = reply.maybe_time()?;
            ready.next_due_ms = ready.next_due_ms.into_iter().chain(due_ms).min();
            let mut found = reply.list()?;
            while !found.is_empty() {
                let id = InstanceId::from(found.text()?);
                candidates.push(Candidate {
                    at_ms: found.number()?,
                    partition,
                    id,
                    listed: found.optional_text()?,
                });
            }
        }
        candidates.sort_by_key(|candidate| candidate.at_ms);
        candidates.truncate(max);
        ready.instances = self.claim_instances(session, candidates).await?;
        Ok(ready)
    }

    async fn claim_instances(
        &self,
        session: SessionId,
        candidates: Vec<Candidate<'_>>,
    ) -> Result<Vec<ReadyInstance>, ProviderError> {
        let groups = self.by_partition(candidates, |candidate| &candidate.id);
        let claims = groups.iter().flat_map(|(_, group)| group.chunks(TOGETHER));
        let claims = claims.map(|group| self.claim_together(session, group));
        let mut claimed = Vec::new();
        let mut failed = None;
        for answer in join_all(claims).await {
            match answer {
                Ok(ready) => claimed.extend(ready),
                // What other partitions gave is leased to this session: it must not get lost.
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if claimed.is_empty() || !error.is_retryable() => Err(error),
            _ => {
                claimed.sort_by_key(|(place, _)| *place);
                Ok(claimed.into_iter().map(|(_, ready)| ready).collect())
            }
        }
    }

    async fn claim_together(
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
            let args = call.instance(&candidate.id);
            args.optional(candidate.listed.as_ref());
        }
        let mut reply = self.call_of(session, &call).await?;
        let mut found = reply.list()?;
        let mut claimed = Vec::new();
        while !found.is_empty() {
            let mut fields = found.list()?;
            let id = InstanceId::from(fields.text()?);
            let mut places = group.iter().filter(|(_, candidate)| candidate.id == id);
            let place = places.next().map_or(usize::MAX, |(place, _)| *place);
            match ready_instance(session, id.clone(), &mut fields) {
                Ok(ready) => claimed.push((place, ready)),
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
        Ok(claimed)
    }

    /// The claimed work that can be read; instances of the rest are stopped. One that cannot
    /// be stopped now is met again when this session is over: the sound work is leased to the
    /// session and must not get lost.
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
    fields: &mut Reply,
) -> Result<ReadyInstance, ProviderError> {
    let lease = Lease {
        instance,
        session,
        token: fields.number()?,
    };
    let mut ready = ReadyInstance::new(lease, ExecutionId::new(fields.number()?));
    ready.last_event_id = EventId::new(fields.number()?);
    ready.last_commit_id = match fields.text()?.as_str() {
        "" => None,
        text => Some(commit_id(text)?),
    };
    ready.crashes = fields.number()?;
    ready.has_more = fields.flag()?;
    let mut messages = fields.list()?;
    while !messages.is_empty() {
        let seq = InboxSeq(messages.number()?);
        let bytes = messages.bytes()?;
        let what = format_args!("message {} of `{}`", seq.0, ready.lease.instance);
        let message = message_of(what, &bytes)?;
        ready.messages.push(InboxMessage { seq, message });
    }
    Ok(ready)
}

fn commit_id(text: &str) -> Result<CommitId, ProviderError> {
    let number = u128::from_str_radix(text, 16);
    number.map(CommitId).map_err(unexpected)
}
