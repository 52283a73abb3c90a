//! Reading the open activity calls and timers of an instance, with plain commands. Nothing
//! here changes anything.

use durable_core::provider::{
    OpenActivity, OpenTimer, OpenWorkPage, ProviderError, SessionId, SourceEvent, WorkItem,
    WorkKey, WorkState,
};
use durable_core::{EventId, ExecutionId, InstanceId, Payload};

use crate::codec::{failure_of, item_of};
use crate::keys::{source_text, work_text};
use crate::store::Store;

/// How many events one page has at most: the server answers others meanwhile.
const LARGEST_PAGE: usize = 1_000;

/// What the server has of an activity call.
struct StoredCall<'a> {
    state: &'a [u8],
    item: Option<&'a [u8]>,
    heartbeat: Option<&'a [u8]>,
    failure: Option<&'a [u8]>,
}

impl Store {
    pub(crate) async fn open_work(
        &self,
        id: &InstanceId,
        after: Option<SourceEvent>,
        max: usize,
    ) -> Result<OpenWorkPage, ProviderError> {
        let max = max.min(LARGEST_PAGE);
        let mut command = redis::cmd("HKEYS");
        command.arg(self.partition(id).instance(id));
        let fields: Vec<String> = self.read(&command).await?;
        // Work and timers have fields of their own in the record of their instance.
        let sources = |mark: &str| {
            let found = fields.iter().filter_map(|field| field.strip_prefix(mark));
            let mut found: Vec<SourceEvent> = found
                .filter_map(source_of)
                .filter(|source| after.is_none_or(|after| *source > after))
                .collect();
            found.sort_unstable();
            found.truncate(max.saturating_add(1));
            found
        };
        let activities = self.open_activities(id, &sources("w:")).await?;
        let timers = self.open_timers(id, &sources("t:")).await?;
        Ok(OpenWorkPage::first(activities, timers, after, max))
    }

    /// Those of these calls that are still open.
    async fn open_activities(
        &self,
        id: &InstanceId,
        sources: &[SourceEvent],
    ) -> Result<Vec<OpenActivity>, ProviderError> {
        if sources.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = redis::cmd("HMGET");
        command.arg(self.partition(id).work());
        let keys: Vec<WorkKey> = (sources.iter())
            .map(|source| WorkKey::new(id.clone(), *source))
            .collect();
        for key in &keys {
            let name = work_text(key);
            for part in ['s', 'i', 'b', 'f'] {
                command.arg(format!("{part}{name}"));
            }
        }
        let found: Vec<Option<Vec<u8>>> = self.read(&command).await?;
        let open = keys
            .iter()
            .zip(found.chunks_exact(4))
            .filter_map(|(key, stored)| {
                // Without a state it was settled since.
                let [Some(state), item, heartbeat, failure] = stored else {
                    return None;
                };
                let stored = StoredCall {
                    state,
                    item: item.as_deref(),
                    heartbeat: heartbeat.as_deref(),
                    failure: failure.as_deref(),
                };
                Some(stored.shown(key))
            });
        open.collect()
    }

    /// Those of these timers that are still open.
    async fn open_timers(
        &self,
        id: &InstanceId,
        sources: &[SourceEvent],
    ) -> Result<Vec<OpenTimer>, ProviderError> {
        if sources.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = redis::cmd("HMGET");
        command.arg(self.partition(id).instance(id));
        for source in sources {
            command.arg(format!("t:{}", source_text(*source)));
        }
        let found: Vec<Option<String>> = self.read(&command).await?;
        let open = sources.iter().zip(&found).filter_map(|(source, set)| {
            // A number that rises, and the time.
            let fire_at_ms = set.as_deref()?.split_once(':')?.1.parse().ok()?;
            Some(OpenTimer::new(*source, fire_at_ms))
        });
        Ok(open.collect())
    }
}

impl StoredCall<'_> {
    fn shown(&self, key: &WorkKey) -> Result<OpenActivity, ProviderError> {
        let what = format!("activity call {}", work_text(key));
        let damaged = || ProviderError::Damaged {
            reason: format!("the state of {what}"),
        };
        let item = item_of(&what, key, self.item.unwrap_or_default())?;
        let text = |bytes| str::from_utf8(bytes).map_err(|_| damaged());
        let mut open = read_state(item, text(self.state)?).ok_or_else(damaged)?;
        let heartbeat = self.heartbeat.map(text).transpose()?;
        open.heartbeat = heartbeat.map(Payload::from);
        let failure = self.failure.map(|failure| failure_of(&what, failure));
        open.last_failure = failure.transpose()?;
        Ok(open)
    }
}

/// An activity call by its state, as scripts write it (see `prelude.lua`): `holder token failures
/// crashes cancelled lane`; without a holder the token begins with the time.
fn read_state(item: WorkItem, text: &str) -> Option<OpenActivity> {
    let mut parts = text.splitn(6, ' ');
    let (holder, token) = (parts.next()?, parts.next()?);
    let state = match holder {
        "-" => WorkState::Queued {
            ready_at_ms: token.split(':').next()?.parse().ok()?,
        },
        holder => WorkState::Held {
            session: SessionId(holder.parse().ok()?),
        },
    };
    let mut open = OpenActivity::new(item, state);
    open.attempt = parts.next()?.parse::<u32>().ok()?.saturating_add(1);
    open.crashes = parts.next()?.parse().ok()?;
    open.is_cancelled = parts.next()? == "1";
    Some(open)
}

/// `execution:event`.
fn source_of(text: &str) -> Option<SourceEvent> {
    let (execution, event) = text.split_once(':')?;
    let execution_id = ExecutionId::new(execution.parse().ok()?);
    Some(SourceEvent::new(
        execution_id,
        EventId::new(event.parse().ok()?),
    ))
}
