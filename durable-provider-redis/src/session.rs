//! Sessions: opened, kept and ended in every partition, because what a session holds is
//! checked where it is held.

use std::collections::{BTreeMap, BTreeSet};

use durable_core::provider::{CancelledWork, ProviderError, SessionId, SessionOptions};

use crate::error::unexpected;
use crate::keys::{Partition, work_key};
use crate::script::{self, Call};
use crate::store::Store;

/// How much of a late session is freed in one step.
const SWEEP_TOGETHER: usize = 200;
/// Longer than any session lives, in milliseconds, and far below what a script counts exactly.
const MAX_SESSION_TIMEOUT_MS: u64 = 1 << 50;

impl Store {
    pub(crate) async fn open_session(
        &self,
        options: &SessionOptions,
    ) -> Result<SessionId, ProviderError> {
        let timeout_ms = options.session_timeout_ms.min(MAX_SESSION_TIMEOUT_MS);
        let call = |partition, session: Option<SessionId>| {
            let mut call = Call::new(&script::OPEN_SESSION, partition);
            let id = session.map(|session| session.0.to_string());
            let args = call.args.optional(id);
            args.number(timeout_ms).push(&options.node);
            call
        };
        let (_, mut reply) = self.call(&call(&self.partitions[0], None)).await?;
        let session = SessionId(reply.number()?);
        for partition in &self.partitions[1..] {
            self.call(&call(partition, Some(session))).await?;
        }
        Ok(session)
    }

    pub(crate) async fn heartbeat(&self, session: SessionId) -> Result<(), ProviderError> {
        let beat = |partition| {
            let mut call = Call::new(&script::HEARTBEAT, partition);
            call.args.number(session.0);
            call
        };
        self.call_everywhere(Some(session), beat).await.map(drop)
    }

    pub(crate) async fn cancelled_work(
        &self,
        session: SessionId,
    ) -> Result<CancelledWork, ProviderError> {
        let look = |partition| {
            let mut call = Call::new(&script::CANCELLED_WORK, partition);
            call.args.number(session.0);
            call
        };
        let mut answer = CancelledWork::default();
        answer.seen = self.wakeups.seen();
        for (_, mut reply) in self.call_everywhere(Some(session), look).await? {
            let mut cancelled = reply.list()?;
            while !cancelled.is_empty() {
                let key = work_key(&cancelled.text()?).ok_or_else(|| unexpected("a work key"))?;
                answer.keys.push(key);
            }
        }
        Ok(answer)
    }

    pub(crate) async fn close_session(&self, session: SessionId) -> Result<(), ProviderError> {
        for partition in &self.partitions {
            let mut call = Call::new(&script::CLOSE_SESSION, partition);
            call.args.number(session.0);
            self.call(&call).await?;
            self.sweep(partition).await?;
        }
        self.wakeups.note_end(session);
        Ok(())
    }

    /// Frees everything that late sessions hold in a partition.
    pub(crate) async fn sweep(&self, partition: &Partition) -> Result<(), ProviderError> {
        loop {
            let mut look = Call::new(&script::LATE, partition);
            look.args.count(SWEEP_TOGETHER);
            let (status, mut reply) = self.call_once(&look).await?;
            if status == "NONE" {
                return Ok(());
            }
            let session = reply.text()?;
            let mut call = Call::new(&script::SWEEP, partition);
            call.args.push(&session);
            let mut instances = Vec::new();
            let mut held = reply.list()?;
            while !held.is_empty() {
                instances.push(held.text()?);
            }
            call.args.count(instances.len());
            for id in &instances {
                call.instance(id);
            }
            let mut work = BTreeMap::new();
            let mut holds = reply.list()?;
            while !holds.is_empty() {
                work.insert(holds.text()?, holds.text()?);
            }
            declare_work(&mut call, &work)?;
            self.call_once(&call).await?;
        }
    }
}

/// Declares the instances and the queues of work items, and names them with their owners.
fn declare_work(call: &mut Call<'_>, work: &BTreeMap<String, String>) -> Result<(), ProviderError> {
    let mut owners = BTreeSet::new();
    let mut items = Vec::new();
    for key in work.keys() {
        let owner = work_key(key)
            .ok_or_else(|| unexpected("a work key"))?
            .instance;
        owners.insert(owner.clone());
        items.push((key, owner));
    }
    call.args.count(owners.len());
    for owner in &owners {
        call.instance(owner);
    }
    let topics: BTreeSet<String> = work.values().cloned().collect();
    call.queues(&topics.into_iter().collect::<Vec<_>>());
    call.args.count(items.len());
    for (key, owner) in items {
        call.args.push(key).push(owner.as_str());
    }
    Ok(())
}
