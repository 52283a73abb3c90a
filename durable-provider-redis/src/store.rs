//! The store: partitions, connections, and calls of scripts in them.

use std::sync::Arc;
use std::time::Instant;

use durable_core::InstanceId;
use durable_core::provider::{ProviderError, SessionId};
use futures::future::join_all;
use redis::{ErrorKind, RedisError, ServerErrorKind, Value};

use crate::clock::HandleTime;
use crate::connection::{Link, Nodes};
use crate::error::{self, Effect, unexpected};
use crate::group::Group;
use crate::keys::{Partition, change_channel, partition_of};
use crate::links::Links;
use crate::options::RedisOptions;
use crate::reply::Reply;
use crate::script::Call;
use crate::wake::Wakeups;

/// What all handles on a store share.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) nodes: Nodes,
    links: Links,
    pub(crate) partitions: Vec<Partition>,
    /// Turns that wait, for each partition.
    pub(crate) groups: Vec<Group>,
    pub(crate) options: RedisOptions,
    pub(crate) wakeups: Wakeups,
    pub(crate) time: HandleTime,
    pub(crate) channel: String,
}

/// The status that a script answers with, and the rest of its answer.
pub(crate) type ScriptAnswer = (String, Reply);

impl Store {
    pub(crate) fn new(
        nodes: Nodes,
        link: Link,
        partitions: usize,
        options: RedisOptions,
        time: HandleTime,
    ) -> Self {
        let partition = |number| Partition::new(&options.prefix, number);
        Self {
            nodes,
            links: Links::new(link),
            partitions: (0..partitions).map(partition).collect(),
            groups: (0..partitions).map(|_| Group::default()).collect(),
            channel: change_channel(&options.prefix),
            options,
            wakeups: Wakeups::default(),
            time,
        }
    }

    /// The partition of an instance.
    pub(crate) fn partition(&self, id: &str) -> &Partition {
        &self.partitions[partition_of(id, self.partitions.len())]
    }

    /// The connections of the runtime that calls.
    pub(crate) async fn link(&self) -> Result<Arc<Link>, ProviderError> {
        self.links.here(&self.nodes, &self.options).await
    }

    /// Calls a script. If a session is late, its holdings are freed first.
    pub(crate) async fn call(&self, call: &Call<'_>) -> Result<ScriptAnswer, ProviderError> {
        loop {
            let (status, reply) = self.call_once(call).await?;
            if status != "LATE" {
                return Ok((status, reply));
            }
            self.sweep(call.partition).await?;
        }
    }

    /// Calls a script of a session.
    pub(crate) async fn call_of(
        &self,
        session: SessionId,
        call: &Call<'_>,
    ) -> Result<Reply, ProviderError> {
        match self.call(call).await? {
            (status, _) if status == "LOST" => {
                self.wakeups.note_end(session);
                Err(ProviderError::SessionLost { session })
            }
            (_, reply) => Ok(reply),
        }
    }

    pub(crate) async fn call_once(&self, call: &Call<'_>) -> Result<ScriptAnswer, ProviderError> {
        let told_ms = self.time.told_to_scripts();
        let told_ms = told_ms.map(|ms| ms.to_string()).unwrap_or_default();
        let head = [told_ms.as_str(), self.channel.as_str()];
        let link = self.link().await?;
        let sent = Instant::now();
        let answer = match self.run(&link, call, &call.by_hash(&head)).await {
            Err(error) if is_unknown_script(&error) => {
                self.run(&link, call, &call.by_text(&head)).await
            }
            answer => answer,
        };
        let (value, reached) =
            answer.map_err(|error| error::of_call(&error, call.script.effect))?;
        let mut reply = Reply::new(value)?;
        let status = reply.text()?;
        self.time.saw(reply.number()?, sent);
        let wanted = self.options.wait_replicas;
        if reached < wanted && call.script.effect == Effect::Writes {
            return Err(ProviderError::Unknown {
                reason: format!(
                    "{reached} of {wanted} replicas have it; if this server is lost, so may it be"
                ),
            });
        }
        Ok((status, reply))
    }

    /// Runs a script; says how many replicas have what it wrote, if that matters.
    async fn run(
        &self,
        link: &Link,
        call: &Call<'_>,
        command: &redis::Cmd,
    ) -> Result<(Value, u32), RedisError> {
        let replicas = self.options.wait_replicas;
        if replicas == 0 || call.script.effect == Effect::Reads {
            return Ok((link.send(command).await?, 0));
        }
        let (slot, bound) = (call.partition.slot, self.options.wait_timeout);
        link.send_and_wait(command, slot, replicas, bound).await
    }

    /// Makes the same call in all partitions at once. Those that cannot be reached are left
    /// out, unless that is all of them or it may have happened.
    pub(crate) async fn call_everywhere<'a>(
        &'a self,
        session: Option<SessionId>,
        make: impl Fn(&'a Partition) -> Call<'a>,
    ) -> Result<Vec<(&'a Partition, Reply)>, ProviderError> {
        let calls = self.partitions.iter().map(|partition| {
            let call = make(partition);
            async move {
                let answer = match session {
                    Some(session) => self.call_of(session, &call).await,
                    None => self.call(&call).await.map(|(_, reply)| reply),
                };
                (partition, answer)
            }
        });
        let mut found = Vec::new();
        let mut away = None;
        for (partition, answer) in join_all(calls).await {
            match answer {
                Ok(reply) => found.push((partition, reply)),
                Err(error @ ProviderError::Unavailable { .. }) => away = Some(error),
                Err(error) => return Err(error),
            }
        }
        match (found.is_empty(), away) {
            (true, Some(error)) => Err(error),
            (_, Some(error)) => {
                tracing::warn!(%error, "some partitions cannot be reached");
                Ok(found)
            }
            (_, None) => Ok(found),
        }
    }

    /// The error of an answer that a script should not give here.
    pub(crate) fn unexpected_status(call: &Call<'_>, status: &str) -> ProviderError {
        unexpected(format_args!("`{status}` from {}", call.script.name))
    }

    /// Groups things by the partition of their instance, in their order.
    pub(crate) fn by_partition<T>(
        &self,
        things: impl IntoIterator<Item = T>,
        instance: impl Fn(&T) -> &InstanceId,
    ) -> Vec<(&Partition, Vec<(usize, T)>)> {
        let mut groups: Vec<(&Partition, Vec<(usize, T)>)> = Vec::new();
        for (place, thing) in things.into_iter().enumerate() {
            let partition = self.partition(instance(&thing));
            let known = groups
                .iter_mut()
                .find(|(group, _)| group.number == partition.number);
            match known {
                Some((_, group)) => group.push((place, thing)),
                None => groups.push((partition, vec![(place, thing)])),
            }
        }
        groups
    }
}

fn is_unknown_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}
