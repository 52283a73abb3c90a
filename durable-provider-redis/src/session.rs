//! Sessions: opened, kept and ended in every partition, because what a session holds is
//! checked where it is held.

use std::collections::{BTreeMap, BTreeSet};

use durable_core::provider::{
    CancelledWork, ProviderError, SessionId, SessionOptions, SessionRecord,
};
use futures::future::try_join_all;

use crate::code::push_served;
use crate::error::unexpected;
use crate::keys::{Partition, work_key};
use crate::script::{self, Call, Script};
use crate::store::Store;

/// How much of a late session is freed in one step.
const SWEEP_TOGETHER: usize = 200;

impl Store {
    pub(crate) async fn open_session(
        &self,
        options: &SessionOptions,
    ) -> Result<SessionId, ProviderError> {
        self.options.limits.check_session(options)?;
        let json = options.to_json()?;
        let number = Call::new(&script::NEW_SESSION, &self.partitions[0]);
        let (_, mut reply) = self.call(&number).await?;
        let session = SessionId(reply.number()?);
        for partition in &self.partitions {
            let mut call = of_session(&script::OPEN_SESSION, partition, session);
            call.args.number(options.session_timeout_ms).push(&json);
            push_served(&mut call.args, options.code.as_ref());
            self.call(&call).await?;
        }
        self.wakeups.note_code(session, options.code.clone());
        Ok(session)
    }

    /// The sessions that live in the first partition, as in every other one.
    pub(crate) async fn sessions(&self) -> Result<Vec<SessionRecord>, ProviderError> {
        let partition = &self.partitions[0];
        let (_, mut reply) = self.call(&Call::new(&script::SESSIONS, partition)).await?;
        let mut found = reply.list()?;
        let mut live = BTreeMap::new();
        while !found.is_empty() {
            live.insert(SessionId(found.number()?), found.number()?);
        }
        let records = live.into_iter().map(|(session, ends_at_ms)| async move {
            let mut command = redis::cmd("HGET");
            command.arg(partition.session(session)).arg("options");
            // It may have ended since the look.
            let Some(json) = self.read::<Option<String>>(&command).await? else {
                return Ok(None);
            };
            let options = SessionOptions::from_json(&json)?;
            Ok::<_, ProviderError>(Some(SessionRecord::new(session, options, ends_at_ms)))
        });
        let records = try_join_all(records).await?;
        Ok(records.into_iter().flatten().collect())
    }

    pub(crate) async fn heartbeat(&self, session: SessionId) -> Result<(), ProviderError> {
        let beat = |partition| of_session(&script::HEARTBEAT, partition, session);
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
            let call = of_session(&script::CLOSE_SESSION, partition, session);
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
            let session = SessionId(reply.number()?);
            let mut call = of_session(&script::SWEEP, partition, session);
            let mut instances = Vec::new();
            let mut held = reply.list()?;
            while !held.is_empty() {
                instances.push(held.text()?);
            }
            call.args.count(instances.len());
            for id in &instances {
                call.instance(id);
            }
            let mut work = Vec::new();
            let mut holds = reply.list()?;
            while !holds.is_empty() {
                work.push(holds.text()?);
            }
            declare_work(&mut call, &work)?;
            self.call_once(&call).await?;
        }
    }
}

/// A call about a session, which it declares and names.
fn of_session<'a>(
    script: &'static Script,
    partition: &'a Partition,
    session: SessionId,
) -> Call<'a> {
    let mut call = Call::new(script, partition);
    call.declare_session(session);
    call.args.number(session.0);
    call
}

/// Declares the instances of work items, and names the items with their owners.
fn declare_work(call: &mut Call<'_>, work: &[String]) -> Result<(), ProviderError> {
    let mut owners = BTreeSet::new();
    let mut items = Vec::new();
    for key in work {
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
    call.args.count(items.len());
    for (key, owner) in items {
        call.args.push(key).push(owner.as_str());
    }
    Ok(())
}
