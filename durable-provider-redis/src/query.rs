//! Reading, with plain commands. Nothing here changes anything.

use durable_core::provider::{
    ExecutionRecord, HistoryPage, InboxMessage, InboxPage, InboxSeq, InstanceRecord, PoisonedPage,
    PoisonedWork, ProviderError, RequestAnswer, WorkKey,
};
use durable_core::{EventId, ExecutionId, HistoryEntry, InstanceId, MessageId};
use futures::future::try_join_all;
use redis::{Cmd, FromRedisValue, Value};

use crate::codec::{answer_of, entry_of, failure_of, item_of, message_of};
use crate::error::{self, Effect, unexpected};
use crate::keys::{Partition, work_key, work_text};
use crate::record::{FIELDS, Record};
use crate::store::Store;

/// How many entries of a history one page has at most: the server answers others meanwhile.
const LARGEST_PAGE: usize = 10_000;

type EntryOfStream = (String, Vec<Vec<u8>>);

impl Store {
    pub(crate) async fn read<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, ProviderError> {
        let value = self.link().await?.send(command).await;
        let value = value.map_err(|error| error::of_call(&error, Effect::Reads))?;
        T::from_redis_value(value).map_err(unexpected)
    }

    pub(crate) async fn record(&self, id: &InstanceId) -> Result<Option<Record>, ProviderError> {
        let key = self.partition(id).instance(id);
        let mut command = redis::cmd("HMGET");
        command.arg(key).arg(&FIELDS);
        let value: Value = self.read(&command).await?;
        Record::read(id, value)
    }

    pub(crate) async fn instance(
        &self,
        id: &InstanceId,
    ) -> Result<Option<InstanceRecord>, ProviderError> {
        if let Some(record) = self.record(id).await? {
            return Ok(Some(record.instance));
        }
        let mut command = redis::cmd("ZSCORE");
        command.arg(self.partition(id).index()).arg(id.as_str());
        if self.read::<Option<f64>>(&command).await?.is_none() {
            return Ok(None);
        }
        // It may have been started between the two looks.
        match self.record(id).await? {
            Some(record) => Ok(Some(record.instance)),
            None => Err(ProviderError::Damaged {
                reason: format!(
                    "the record of `{id}` is gone although it was never purged: its key was \
                     removed from the server"
                ),
            }),
        }
    }

    pub(crate) async fn answer(
        &self,
        id: &InstanceId,
        message_id: &MessageId,
    ) -> Result<Option<RequestAnswer>, ProviderError> {
        let mut command = redis::cmd("HGET");
        command.arg(self.partition(id).answers(id));
        command.arg(format!("a{message_id}"));
        let Some(bytes) = self.read::<Option<Vec<u8>>>(&command).await? else {
            return Ok(None);
        };
        let what = format_args!("the answer of `{id}` to request `{message_id}`");
        let result = answer_of(what, &bytes)?;
        Ok(Some(RequestAnswer::new(message_id.clone(), result)))
    }

    pub(crate) async fn executions(
        &self,
        id: &InstanceId,
    ) -> Result<Vec<ExecutionRecord>, ProviderError> {
        let Some(record) = self.record(id).await? else {
            return Ok(Vec::new());
        };
        let partition = self.partition(id);
        let last = record.instance.execution_id.get();
        let tails = (record.first_execution..=last).map(|execution| async move {
            let execution_id = ExecutionId::new(execution);
            let mut command = redis::cmd("XREVRANGE");
            command.arg(partition.history(id, execution_id));
            command.arg("+").arg("-").arg("COUNT").arg(1);
            let entries: Vec<EntryOfStream> = self.read(&command).await?;
            let last_event_id = match entries.first() {
                Some((stream_id, _)) => event_id_of(stream_id)?,
                None => EventId::UNASSIGNED,
            };
            Ok(ExecutionRecord::new(execution_id, last_event_id))
        });
        try_join_all(tails).await
    }

    pub(crate) async fn history(
        &self,
        id: &InstanceId,
        execution_id: ExecutionId,
        after: EventId,
        max: usize,
    ) -> Result<HistoryPage, ProviderError> {
        let partition = self.partition(id);
        // The tail is read first: what is missing up to it is really missing.
        let tail = self.tail(partition, id, execution_id).await?;
        let mut command = redis::cmd("XRANGE");
        command.arg(partition.history(id, execution_id));
        command.arg(format!("({}-0", after.get())).arg("+");
        let max = max.min(LARGEST_PAGE);
        command.arg("COUNT").arg(max + 1);
        let stored: Vec<EntryOfStream> = self.read(&command).await?;
        let mut page = HistoryPage::default();
        page.has_more = stored.len() > max;
        let mut expected = after.next();
        for (stream_id, fields) in stored.iter().take(max) {
            let entry = stored_entry(id, execution_id, expected, stream_id, fields)?;
            page.entries.push(entry);
            expected = expected.next();
        }
        if !page.has_more && expected <= tail {
            return Err(missing(id, execution_id, expected));
        }
        Ok(page)
    }

    pub(crate) async fn inbox(
        &self,
        id: &InstanceId,
        after: InboxSeq,
        max: usize,
    ) -> Result<InboxPage, ProviderError> {
        let mut command = redis::cmd("XRANGE");
        command.arg(self.partition(id).inbox(id));
        command.arg(format!("({}-0", after.0)).arg("+");
        let max = max.min(LARGEST_PAGE);
        command.arg("COUNT").arg(max + 1);
        let stored: Vec<EntryOfStream> = self.read(&command).await?;
        let messages = stored.iter().take(max).map(|(stream_id, fields)| {
            let seq = InboxSeq(number_of(stream_id)?);
            let bytes = fields.get(3).map(Vec::as_slice).unwrap_or_default();
            let what = format_args!("message {} of `{id}`", seq.0);
            let message = message_of(what, bytes)?;
            Ok(InboxMessage { seq, message })
        });
        let mut page = InboxPage::default();
        page.messages = messages.collect::<Result<_, ProviderError>>()?;
        page.has_more = stored.len() > max;
        Ok(page)
    }

    /// Dead letters are few: all their keys are read and sorted, and the items of one page.
    pub(crate) async fn poisoned(
        &self,
        after: Option<&WorkKey>,
        max: usize,
    ) -> Result<PoisonedPage, ProviderError> {
        let names = self.partitions.iter().map(|partition| {
            let mut command = redis::cmd("HKEYS");
            command.arg(partition.poison());
            async move { self.read::<Vec<String>>(&command).await }
        });
        let names = try_join_all(names).await?;
        let items = names
            .iter()
            .flatten()
            .filter_map(|name| name.strip_prefix('i'));
        let mut keys: Vec<WorkKey> = items.filter_map(work_key).collect();
        keys.retain(|key| after.is_none_or(|after| key > after));
        keys.sort_unstable();
        let has_more = keys.len() > max;
        keys.truncate(max);
        let work = try_join_all(keys.iter().map(|key| self.poisoned_work(key))).await?;
        let mut page = PoisonedPage::default();
        page.next = keys.last().or(after).cloned().filter(|_| has_more);
        page.work = work.into_iter().flatten().collect();
        Ok(page)
    }

    /// A dead letter; none if its instance was purged since.
    async fn poisoned_work(&self, key: &WorkKey) -> Result<Option<PoisonedWork>, ProviderError> {
        let name = work_text(key);
        let mut command = redis::cmd("HMGET");
        command.arg(self.partition(&key.instance).poison());
        command.arg(format!("i{name}")).arg(format!("f{name}"));
        let found: (Option<Vec<u8>>, Option<Vec<u8>>) = self.read(&command).await?;
        let (Some(item), Some(failure)) = found else {
            return Ok(None);
        };
        let what = format!("dead letter {name}");
        let item = item_of(&what, key, &item)?;
        let failure = failure_of(&what, &failure)?;
        Ok(Some(PoisonedWork::new(item, failure)))
    }

    /// When the last entry of an execution was recorded; 0 if it has none.
    pub(crate) async fn last_recorded_ms(
        &self,
        id: &InstanceId,
        execution_id: ExecutionId,
    ) -> Result<u64, ProviderError> {
        let mut command = redis::cmd("XREVRANGE");
        command.arg(self.partition(id).history(id, execution_id));
        command.arg("+").arg("-").arg("COUNT").arg(1);
        let entries: Vec<EntryOfStream> = self.read(&command).await?;
        let Some((stream_id, fields)) = entries.first() else {
            return Ok(0);
        };
        let last = event_id_of(stream_id)?;
        let entry = stored_entry(id, execution_id, last, stream_id, fields)?;
        Ok(entry.recorded_at_ms)
    }

    /// The first execution of an instance that has work which is not settled.
    pub(crate) async fn first_execution_with_work(
        &self,
        id: &InstanceId,
    ) -> Result<Option<u64>, ProviderError> {
        let mut command = redis::cmd("HKEYS");
        command.arg(self.partition(id).instance(id));
        let fields: Vec<String> = self.read(&command).await?;
        let work = fields.iter().filter_map(|field| field.strip_prefix("w:"));
        let executions = work.filter_map(|source| source.split(':').next()?.parse().ok());
        Ok(executions.min())
    }

    /// The tail of an execution, if it is the current one.
    async fn tail(
        &self,
        partition: &Partition,
        id: &InstanceId,
        execution_id: ExecutionId,
    ) -> Result<EventId, ProviderError> {
        let mut command = redis::cmd("HMGET");
        command.arg(partition.instance(id)).arg("ex").arg("le");
        let (execution, last): (Option<u64>, Option<u64>) = self.read(&command).await?;
        match (execution, last) {
            (Some(execution), Some(last)) if execution == execution_id.get() => {
                Ok(EventId::new(last))
            }
            _ => Ok(EventId::UNASSIGNED),
        }
    }
}

fn stored_entry(
    id: &InstanceId,
    execution_id: ExecutionId,
    expected: EventId,
    stream_id: &str,
    fields: &[Vec<u8>],
) -> Result<HistoryEntry, ProviderError> {
    let place = format!("event {expected} of `{id}`, execution {execution_id}");
    if event_id_of(stream_id)? != expected {
        return Err(missing(id, execution_id, expected));
    }
    let bytes = fields.get(1).map(Vec::as_slice).unwrap_or_default();
    let entry = entry_of(&place, bytes)?;
    match entry.event_id() == expected {
        true => Ok(entry),
        false => Err(ProviderError::Damaged {
            reason: format!("{place} says that it is event {}", entry.event_id()),
        }),
    }
}

fn missing(id: &InstanceId, execution_id: ExecutionId, event_id: EventId) -> ProviderError {
    ProviderError::Damaged {
        reason: format!("event {event_id} of `{id}`, execution {execution_id}, is missing"),
    }
}

fn event_id_of(stream_id: &str) -> Result<EventId, ProviderError> {
    number_of(stream_id).map(EventId::new)
}

/// The number of an entry of a stream: an event id, or a place in an inbox.
fn number_of(stream_id: &str) -> Result<u64, ProviderError> {
    let number = stream_id
        .split_once('-')
        .and_then(|(number, _)| number.parse().ok());
    number.ok_or_else(|| unexpected(format_args!("`{stream_id}` for the id of an entry")))
}
