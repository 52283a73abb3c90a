//! Timers: a look says which are due; then those are fired whose keys can be declared.

use durable_core::provider::{FiredTimers, Message, ProviderError, WorkKey};
use futures::future::join_all;

use crate::codec::message_bytes;
use crate::error::unexpected;
use crate::keys::work_key;
use crate::script::{self, Call};
use crate::store::Store;
use crate::turn::declare_targets;

/// How many timers one script fires at most.
const TOGETHER: usize = 500;

/// A timer that is due, as its member in the sorted set says:
/// `set:fire_at:execution:event:instance`.
struct DueTimer {
    fire_at_ms: u64,
    member: String,
    /// Named like work: by its instance and the event that set it.
    key: WorkKey,
}

impl Store {
    pub(crate) async fn fire_timers(&self, max: usize) -> Result<FiredTimers, ProviderError> {
        let mut fired = FiredTimers::default();
        fired.seen = self.wakeups.seen();
        let peek = |partition| {
            let mut call = Call::new(&script::PEEK_TIMERS, partition);
            call.args.count(max.min(TOGETHER));
            call
        };
        let mut due = Vec::new();
        let mut firsts = vec![None; self.partitions.len()];
        for (partition, mut reply) in self.call_everywhere(None, peek).await? {
            firsts[partition.number] = reply.maybe_time()?;
            let mut found = reply.list()?;
            while !found.is_empty() {
                due.push(DueTimer::read(found.text()?)?);
            }
        }
        due.sort_by(|one, other| {
            (one.fire_at_ms, &one.member).cmp(&(other.fire_at_ms, &other.member))
        });
        due.truncate(max);
        let groups = self.by_partition(due, |due| &due.key.instance);
        let fires = groups.iter().map(|(partition, group)| async move {
            let mut call = Call::new(&script::FIRE_TIMERS, partition);
            let instances = group.iter().map(|(_, due)| due.key.instance.as_str());
            declare_targets(&mut call, instances);
            call.args.count(group.len());
            for (_, due) in group {
                let message = due.message();
                call.args
                    .push(&due.member)
                    .push(due.key.instance.as_str())
                    .push(message.message_id.as_str())
                    .push(message_bytes(&message)?)
                    .flag(message.body.is_hard_stop());
            }
            let (_, reply) = self.call(&call).await?;
            Ok::<_, ProviderError>((partition.number, reply))
        });
        for answer in join_all(fires).await {
            let (number, mut reply) = answer?;
            fired.fired += reply.number::<usize>()?;
            firsts[number] = reply.maybe_time()?;
        }
        fired.next_due_ms = firsts.into_iter().flatten().min();
        Ok(fired)
    }
}

impl DueTimer {
    fn read(member: String) -> Result<Self, ProviderError> {
        let parts = |member: &str| {
            let (_, rest) = member.split_once(':')?;
            let (fire_at_ms, rest) = rest.split_once(':')?;
            Some((fire_at_ms.parse().ok()?, work_key(rest)?))
        };
        let (fire_at_ms, key) = parts(&member).ok_or_else(|| unexpected("a timer"))?;
        Ok(Self {
            fire_at_ms,
            member,
            key,
        })
    }

    fn message(&self) -> Message {
        Message::timer_fired(self.key.source(), self.fire_at_ms)
    }
}
