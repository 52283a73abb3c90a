//! Reading what was committed. Nothing here changes anything.

use durable_core::provider::{
    ExecutionRecord, HistoryPage, InboxMessage, InboxPage, InboxSeq, InstanceFilter, InstancePage,
    InstanceRecord, InstanceStatus, PoisonedPage, PoisonedWork, ProviderError, PruneRequest,
    ServedCode, SessionId, SessionOptions, SessionRecord, SourceEvent, StatusKind, WorkKey,
};
use durable_core::{
    Attributes, EventId, ExecutionId, Failure, FailureKind, InstanceId, Name, Parent, Payload,
    Version,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::codec::{
    entry_of, failure_of, message_of, status_kind, status_number, status_of, work_item_of,
};
use crate::error::Step;
use crate::number::{int, limit, uint};
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

pub(crate) fn instances(
    connection: &Connection,
    filter: &InstanceFilter,
    after: Option<&InstanceId>,
    max: usize,
) -> Step<InstancePage> {
    let snapshot = connection.unchecked_transaction()?;
    let mut page = InstancePage::default();
    let mut has_more = false;
    walk(&snapshot, filter, after, |row| {
        has_more = page.instances.len() >= max;
        if !has_more {
            page.instances.push(record_or_its_damage(&snapshot, row)?);
        }
        Ok(!has_more)
    })?;
    if has_more {
        let last = page.instances.last().map(|record| &record.instance);
        page.next = last.or(after).cloned();
    }
    Ok(page)
}

/// The ended instances that a filter means, at most `max`, and whether there are more.
pub(crate) fn ended(
    connection: &Connection,
    filter: &InstanceFilter,
    max: usize,
) -> Step<(Vec<InstanceId>, bool)> {
    let mut filter = filter.clone();
    if filter.statuses.is_empty() {
        filter.statuses = StatusKind::ALL.to_vec();
    }
    filter.statuses.retain(|status| status.is_ended());
    if filter.statuses.is_empty() {
        return Ok((Vec::new(), false));
    }
    let mut ids = Vec::new();
    let mut has_more = false;
    walk(connection, &filter, None, |row| {
        has_more = ids.len() >= max;
        if !has_more {
            ids.push(InstanceId::from(row.get::<_, String>(0)?));
        }
        Ok(!has_more)
    })?;
    Ok((ids, has_more))
}

/// The past executions that are to go, at most as many as are asked for, and whether there
/// are more.
pub(crate) fn old_executions(
    connection: &Connection,
    prune: &PruneRequest,
) -> Step<(Vec<OldExecution>, bool)> {
    let mut old = Vec::new();
    let filter = &prune.filter;
    let name = filter.name.as_ref().map(Name::as_str);
    let before_ms = filter.updated_before_ms.map_or(i64::MAX, int);
    let mut statement = connection.prepare_cached(sql::PAST_EXECUTIONS)?;
    let keep = limit(prune.keep.max(1));
    let mask = status_mask(&filter.statuses);
    let mut rows = statement.query(params![0, keep, name, mask, before_ms])?;
    // One that must stay keeps all after it.
    let mut skipped = None;
    while let Some(row) = rows.next()? {
        let (key, id): (i64, String) = (row.get(0)?, row.get(1)?);
        let is_meant = filter
            .id_prefix
            .as_deref()
            .is_none_or(|prefix| id.starts_with(prefix));
        if !is_meant || skipped == Some(key) {
            continue;
        }
        let (execution, tail, work): (i64, i64, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
        let execution_id = ExecutionId::new(uint(execution));
        let instance = InstanceId::from(id);
        if work > 0 || !has_ended_before(connection, prune, &instance, execution_id, tail)? {
            skipped = Some(key);
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

/// A bit for each of these statuses; for all if there are none.
fn status_mask(statuses: &[StatusKind]) -> i64 {
    let statuses = match statuses {
        [] => &StatusKind::ALL,
        statuses => statuses,
    };
    statuses
        .iter()
        .fold(0, |mask, status| mask | 1 << status_number(*status))
}

/// Shows the rows that a filter means, by id, until `show` has seen enough.
fn walk(
    connection: &Connection,
    filter: &InstanceFilter,
    after: Option<&InstanceId>,
    mut show: impl FnMut(&Row<'_>) -> Step<bool>,
) -> Step<()> {
    let prefix = filter.id_prefix.as_deref().unwrap_or_default();
    let after = after.map(InstanceId::as_str);
    let (from, is_inclusive) = match after {
        Some(after) if after >= prefix => (after, false),
        _ => (prefix, true),
    };
    let mask = status_mask(&filter.statuses);
    let before_ms = filter.updated_before_ms.map_or(i64::MAX, int);
    let mut statement = connection.prepare_cached(sql::RECORD_LIST)?;
    let name = filter.name.as_ref().map(Name::as_str);
    let mut rows = statement.query(params![from, is_inclusive, name, mask, before_ms])?;
    while let Some(row) = rows.next()? {
        let id = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        if !id.starts_with(prefix) || !show(row)? {
            break;
        }
    }
    Ok(())
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

/// The columns of `record_read.sql` and `record_list.sql`.
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
    let begins_at_ms: Option<i64> = row.get(15)?;
    let has_begun = record.last_event_id != EventId::UNASSIGNED;
    record.begins_at_ms = begins_at_ms.filter(|_| !has_begun).map(uint);
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
