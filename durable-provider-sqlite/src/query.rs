//! Reading what was committed. Nothing here changes anything.

use durable_core::filter::{Direction, Filter, InstanceQuery, Order, OrderBy, PageToken};
use durable_core::provider::{
    ExecutionRecord, HistoryPage, InboxMessage, InboxPage, InboxSeq, InstancePage, InstanceRecord,
    InstanceStatus, PoisonedPage, PoisonedWork, ProviderError, PruneRequest, RequestAnswer,
    ServedCode, SessionId, SessionOptions, SessionRecord, SourceEvent, StatusKind, WorkKey,
};
use durable_core::{
    Attributes, EventId, ExecutionId, Failure, FailureKind, InstanceId, MessageId, Name, Parent,
    Payload, Version,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::codec::{
    answer_of, entry_of, failure_of, message_of, status_kind, status_of, work_item_of,
};
use crate::error::Step;
use crate::number::{int, limit, uint};
use crate::search;
use crate::sql;
use crate::store::{OldExecution, attribute_of};

pub(crate) fn instance(connection: &Connection, id: &InstanceId) -> Step<Option<InstanceRecord>> {
    // One look at the file: attributes are in rows of their own.
    let snapshot = connection.unchecked_transaction()?;
    let mut statement = snapshot.prepare_cached(sql::RECORD_READ)?;
    let mut rows = statement.query([id.as_str()])?;
    match rows.next()? {
        Some(row) => Ok(Some(record(&snapshot, row)?)),
        None => Ok(None),
    }
}

pub(crate) fn answer(
    connection: &Connection,
    id: &InstanceId,
    message_id: &MessageId,
) -> Step<Option<RequestAnswer>> {
    let mut statement = connection.prepare_cached(sql::ANSWER_READ)?;
    let mut rows = statement.query(params![id.as_str(), message_id.as_str()])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let bytes: Vec<u8> = row.get(0)?;
    let what = format_args!("the answer of `{id}` to request `{message_id}`");
    let result = answer_of(what, &bytes)?;
    Ok(Some(RequestAnswer::new(message_id.clone(), result)))
}

pub(crate) fn instances(
    connection: &Connection,
    query: &InstanceQuery,
    page: Option<&PageToken>,
    max: usize,
) -> Step<InstancePage> {
    // One look at the file.
    let snapshot = connection.unchecked_transaction()?;
    let found = search::find(&snapshot, query, page, max)?;
    let mut page = InstancePage::default();
    page.next = found.next;
    for key in found.keys {
        let shown = of_key(&snapshot, key, |row| record_or_its_damage(&snapshot, row))?;
        page.instances.push(shown);
    }
    Ok(page)
}

/// Reads from the record of an instance that was just found.
fn of_key<T>(connection: &Connection, key: i64, read: impl FnOnce(&Row<'_>) -> Step<T>) -> Step<T> {
    let mut statement = connection.prepare_cached(sql::RECORD_OF_KEY)?;
    let mut rows = statement.query([key])?;
    match rows.next()? {
        Some(row) => read(row),
        None => Err(search::vanished(key).into()),
    }
}

/// A page of the ended instances that a filter means, those that changed longest ago first.
pub(crate) fn ended(
    connection: &Connection,
    filter: &Filter,
    page: Option<&PageToken>,
    max: usize,
) -> Step<(Vec<InstanceId>, Option<PageToken>)> {
    let snapshot = connection.unchecked_transaction()?;
    let order = Order::new(OrderBy::Changed, Direction::Ascending);
    let query = InstanceQuery::new(filter.clone().and(Filter::ended())).ordered(order);
    let found = search::find(&snapshot, &query, page, max)?;
    let mut ids = Vec::new();
    for key in found.keys {
        let id = of_key(&snapshot, key, |row| Ok(row.get::<_, String>(0)?))?;
        ids.push(InstanceId::from(id));
    }
    Ok((ids, found.next))
}

/// The past executions that are to go, at most as many as are asked for, and whether there
/// are more.
pub(crate) fn old_executions(
    connection: &Connection,
    prune: &PruneRequest,
) -> Step<(Vec<OldExecution>, bool)> {
    prune.filter.check()?;
    let snapshot = connection.unchecked_transaction()?;
    let mut old = Vec::new();
    let mut statement = snapshot.prepare_cached(sql::PAST_EXECUTIONS)?;
    let mut rows = statement.query(params![0, limit(prune.keep.max(1))])?;
    // The instance whose executions come, if they may go: one that must stay keeps all after it.
    let mut current: (i64, Option<InstanceId>) = (0, None);
    while let Some(row) = rows.next()? {
        let (key, execution, tail, work): (i64, i64, i64, i64) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        if current.0 != key {
            let record = of_key(&snapshot, key, |row| record_or_its_damage(&snapshot, row))?;
            let is_meant = prune.filter.matches(&record);
            current = (key, is_meant.then_some(record.instance));
        }
        let Some(instance) = current.1.clone() else {
            continue;
        };
        let execution_id = ExecutionId::new(uint(execution));
        if work > 0 || !has_ended_before(&snapshot, prune, &instance, execution_id, tail)? {
            current.1 = None;
            continue;
        }
        if old.len() >= prune.max {
            return Ok((old, true));
        }
        old.push(OldExecution {
            instance,
            execution_id,
        });
    }
    Ok((old, false))
}

/// Whether a past execution ended long enough ago, by its last entry.
fn has_ended_before(
    connection: &Connection,
    prune: &PruneRequest,
    id: &InstanceId,
    execution_id: ExecutionId,
    tail: i64,
) -> Step<bool> {
    if prune.ended_before_ms.is_none() {
        return Ok(true);
    }
    let before = EventId::new(uint(tail).saturating_sub(1));
    let page = history(connection, id, execution_id, before, 1)?;
    let last = page.entries.last();
    Ok(prune.is_old(last.map_or(0, |entry| entry.recorded_at_ms)))
}

/// A session as its row says.
pub(crate) struct StoredSession {
    pub(crate) session: SessionId,
    pub(crate) options: SessionOptions,
    pub(crate) last_heartbeat_ms: u64,
}

/// The sessions that have rows, by id. A row that cannot be read must not stop the store:
/// its session is given nothing, and ends when its heartbeats do.
pub(crate) fn stored_sessions(connection: &Connection) -> rusqlite::Result<Vec<StoredSession>> {
    let mut statement = connection.prepare_cached(sql::SESSIONS_READ)?;
    let sessions = statement.query_map([], |row| {
        let session = SessionId(uint(row.get(0)?));
        let options = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let options = SessionOptions::from_json(options).unwrap_or_else(|error| {
            tracing::error!(%session, %error, "a session is damaged");
            SessionOptions::default().code(ServedCode::new())
        });
        Ok(StoredSession {
            session,
            options,
            last_heartbeat_ms: uint(row.get(2)?),
        })
    })?;
    sessions.collect()
}

/// The sessions that live at this time, by id.
pub(crate) fn sessions(connection: &Connection, now_ms: u64) -> Step<Vec<SessionRecord>> {
    let sessions = stored_sessions(connection)?.into_iter();
    Ok(sessions
        .map(|stored| {
            let timeout_ms = stored.options.session_timeout_ms;
            let ends_at_ms = late_at_ms(stored.last_heartbeat_ms, timeout_ms);
            SessionRecord::new(stored.session, stored.options, ends_at_ms)
        })
        .filter(|record| record.ends_at_ms > now_ms)
        .collect())
}

/// When a session ends, if no heartbeat comes.
pub(crate) const fn late_at_ms(last_heartbeat_ms: u64, session_timeout_ms: u64) -> u64 {
    last_heartbeat_ms
        .saturating_add(session_timeout_ms)
        .saturating_add(1)
}

pub(crate) fn executions(connection: &Connection, id: &InstanceId) -> Step<Vec<ExecutionRecord>> {
    // One look at the file: an execution may become a past one in between.
    let snapshot = connection.unchecked_transaction()?;
    let Some(key) = key_of(&snapshot, id)? else {
        return Ok(Vec::new());
    };
    let execution = |row: &Row<'_>| {
        Ok(ExecutionRecord::new(
            ExecutionId::new(uint(row.get(0)?)),
            EventId::new(uint(row.get(1)?)),
        ))
    };
    let mut statement = snapshot.prepare_cached(sql::EXECUTIONS_READ)?;
    let past = statement.query_map([key], execution)?;
    let mut executions = past.collect::<Result<Vec<_>, _>>()?;
    let mut statement = snapshot.prepare_cached(sql::INSTANCE_LOAD)?;
    executions.extend(statement.query_row([key], execution).optional()?);
    Ok(executions)
}

pub(crate) fn history(
    connection: &Connection,
    id: &InstanceId,
    execution_id: ExecutionId,
    after: EventId,
    max: usize,
) -> Step<HistoryPage> {
    let mut page = HistoryPage::default();
    let Some(key) = key_of(connection, id)? else {
        return Ok(page);
    };
    let mut statement = connection.prepare_cached(sql::HISTORY_PAGE)?;
    let mut rows = statement.query([
        key,
        int(execution_id.get()),
        int(after.get()),
        limit(max.saturating_add(1)),
    ])?;
    while let Some(row) = rows.next()? {
        if page.entries.len() == max {
            page.has_more = true;
            break;
        }
        let event_id = EventId::new(uint(row.get(0)?));
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        let what = format_args!("`{id}`, execution {execution_id}, event {event_id}");
        page.entries.push(entry_of(what, event_id, bytes)?);
    }
    Ok(page)
}

pub(crate) fn inbox(
    connection: &Connection,
    id: &InstanceId,
    after: InboxSeq,
    max: usize,
) -> Step<InboxPage> {
    match key_of(connection, id)? {
        Some(key) => inbox_page(connection, id, key, after, max),
        None => Ok(InboxPage::default()),
    }
}

/// The messages of an inbox after this place.
pub(crate) fn inbox_page(
    connection: &Connection,
    id: &InstanceId,
    key: i64,
    after: InboxSeq,
    max: usize,
) -> Step<InboxPage> {
    let mut page = InboxPage::default();
    let mut statement = connection.prepare_cached(sql::INBOX_PAGE)?;
    let mut rows = statement.query([key, int(after.0), limit(max.saturating_add(1))])?;
    while let Some(row) = rows.next()? {
        if page.messages.len() == max {
            page.has_more = true;
            break;
        }
        let seq = InboxSeq(uint(row.get(0)?));
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        let message = message_of(format_args!("message {} to `{id}`", seq.0), bytes)?;
        page.messages.push(InboxMessage { seq, message });
    }
    Ok(page)
}

pub(crate) fn poisoned(
    connection: &Connection,
    after: Option<&WorkKey>,
    max: usize,
) -> Step<PoisonedPage> {
    let from = after.map(|key| {
        let (execution_id, event_id) = (key.execution_id.get(), key.event_id.get());
        (key.instance.as_str(), execution_id, event_id)
    });
    let (id, execution_id, event_id) = from.unwrap_or_default();
    let mut statement = connection.prepare_cached(sql::POISONED_READ)?;
    let mut rows = statement.query(params![
        id,
        int(execution_id),
        int(event_id),
        limit(max.saturating_add(1)),
    ])?;
    let mut page = PoisonedPage::default();
    while let Some(row) = rows.next()? {
        if page.work.len() == max {
            let last = page.work.last().map(|last| &last.item.key);
            page.next = last.or(after).cloned();
            break;
        }
        page.work.push(poisoned_work(row)?);
    }
    Ok(page)
}

/// The columns of `poisoned_read.sql`.
fn poisoned_work(row: &Row<'_>) -> Step<PoisonedWork> {
    let id = InstanceId::from(row.get::<_, String>(0)?);
    let execution_id = ExecutionId::new(uint(row.get(1)?));
    let event_id = EventId::new(uint(row.get(2)?));
    let number = uint(row.get(3)?);
    let failure = row.get_ref(4)?.as_blob().map_err(rusqlite::Error::from)?;
    let entry = row.get_ref(5)?.as_blob_or_null();
    let entry = entry.map_err(rusqlite::Error::from)?;
    let source = SourceEvent::new(execution_id, event_id);
    let item = work_item_of(&id, source, number, entry)?;
    let what = format_args!("the failure of the dead letter {execution_id}/{event_id} of `{id}`");
    Ok(PoisonedWork::new(item, failure_of(what, failure)?))
}

pub(crate) fn key_of(connection: &Connection, id: &InstanceId) -> Step<Option<i64>> {
    let mut statement = connection.prepare_cached(sql::KEY_OF_ID)?;
    let key = statement.query_row([id.as_str()], |row| row.get(0));
    Ok(key.optional()?)
}

/// The columns of `record_read.sql` and `record_of_key.sql`.
fn record(connection: &Connection, row: &Row<'_>) -> Step<InstanceRecord> {
    let id: String = row.get(0)?;
    let status = row.get_ref(5)?.as_blob().map_err(rusqlite::Error::from)?;
    let status = status_of(format_args!("the status of `{id}`"), status)?;
    let blocked = row
        .get_ref(6)?
        .as_blob_or_null()
        .map_err(rusqlite::Error::from)?;
    let what = format_args!("what blocks `{id}`");
    let blocked = blocked.map(|bytes| failure_of(what, bytes)).transpose()?;
    let mut record = plain_record(row, status, blocked)?;
    record.attributes = attributes(connection, row.get(14)?)?;
    Ok(record)
}

/// The attributes of the instance with this key.
fn attributes(connection: &Connection, key: i64) -> Step<Attributes> {
    let mut attributes = Attributes::new();
    let mut statement = connection.prepare_cached(sql::ATTRIBUTES_READ)?;
    let mut rows = statement.query([key])?;
    while let Some(row) = rows.next()? {
        let (name, kind): (String, u8) = (row.get(0)?, row.get(1)?);
        attributes.set(name, attribute_of(kind, row.get(2)?)?);
    }
    Ok(attributes)
}

fn plain_record(
    row: &Row<'_>,
    status: InstanceStatus,
    blocked: Option<Failure>,
) -> Step<InstanceRecord> {
    let id: String = row.get(0)?;
    let version: Option<String> = row.get(3)?;
    let custom_status: Option<String> = row.get(7)?;
    let parent: Option<String> = row.get(8)?;
    let parent = match parent {
        Some(instance) => Some(Parent::new(
            instance.into(),
            ExecutionId::new(uint(row.get(9)?)),
            EventId::new(uint(row.get(10)?)),
        )),
        None => None,
    };
    let kind: i64 = row.get(4)?;
    if status_kind(kind) != Some(status.kind()) {
        return Err(ProviderError::Damaged {
            reason: format!(
                "the status of `{id}` is {} and number {kind}",
                status.kind()
            ),
        }
        .into());
    }
    let execution_id = ExecutionId::new(uint(row.get(1)?));
    let name = Name::from(row.get::<_, String>(2)?);
    let created_at_ms = uint(row.get(12)?);
    let mut record = InstanceRecord::pending(id.into(), execution_id, name, created_at_ms);
    record.version = version.map(Version::from);
    record.status = status;
    record.blocked = blocked;
    record.custom_status = custom_status.map(Payload::from);
    record.parent = parent;
    record.last_event_id = EventId::new(uint(row.get(11)?));
    record.updated_at_ms = uint(row.get(13)?);
    Ok(record)
}

/// In a list a damaged record is shown as blocked by its damage: one instance must
/// not hide all others.
fn record_or_its_damage(connection: &Connection, row: &Row<'_>) -> Step<InstanceRecord> {
    let error = match record(connection, row) {
        Err(crate::error::Fault::Refused(error @ ProviderError::Damaged { .. })) => error,
        other => return other,
    };
    let failure = || Failure::new(FailureKind::CorruptHistory, error.to_string()).not_retryable();
    let kind: i64 = row.get(4)?;
    let status = match status_kind(kind) {
        Some(StatusKind::Pending) => InstanceStatus::Pending,
        Some(StatusKind::Running) => InstanceStatus::Running,
        Some(StatusKind::Suspended) => InstanceStatus::Suspended { failure: failure() },
        Some(StatusKind::Failed | StatusKind::Completed) => {
            InstanceStatus::Failed { failure: failure() }
        }
        Some(StatusKind::Terminated) | None => InstanceStatus::Terminated { failure: failure() },
    };
    match plain_record(row, status, Some(failure())) {
        Ok(record) => Ok(record),
        Err(_) => Err(error.into()),
    }
}
