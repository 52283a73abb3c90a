//! Reading the open activity calls and timers of an instance: rows, and the inline work in
//! the instance's own row. Nothing here changes anything.

use durable_core::provider::{OpenActivity, OpenTimer, OpenWorkPage, SessionId, SourceEvent};
use durable_core::provider::{ProviderError, WorkState};
use durable_core::{EventId, ExecutionId, InstanceId, Payload};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::codec::{failure_of, work_item_of};
use crate::error::Step;
use crate::number::{count, int, limit, uint};
use crate::query::key_of;
use crate::sql;
use crate::store::{InlineWork, unreadable_inline_work};

pub(crate) fn open_work(
    connection: &Connection,
    id: &InstanceId,
    after: Option<SourceEvent>,
    max: usize,
) -> Step<OpenWorkPage> {
    // One look at the file: inline work may get a row in between.
    let snapshot = connection.unchecked_transaction()?;
    let Some(key) = key_of(&snapshot, id)? else {
        return Ok(OpenWorkPage::default());
    };
    let (execution, event) = after.map_or((0, 0), |after| {
        (int(after.execution_id.get()), int(after.event_id.get()))
    });
    let later = [key, execution, event, limit(max.saturating_add(1))];
    let mut activities = inline_work(&snapshot, key, id)?;
    activities.retain(|open| after.is_none_or(|after| open.source() > after));
    let mut statement = snapshot.prepare_cached(sql::WORK_OPEN)?;
    let mut rows = statement.query(later)?;
    while let Some(row) = rows.next()? {
        activities.push(work_in_row(id, row)?);
    }
    activities.sort_by_key(OpenActivity::source);
    let mut statement = snapshot.prepare_cached(sql::TIMERS_OPEN)?;
    let timers = statement.query_map(later, |row| {
        Ok(OpenTimer::new(source_of(row)?, uint(row.get(2)?)))
    })?;
    let timers = timers.collect::<Result<_, _>>()?;
    Ok(OpenWorkPage::first(activities, timers, after, max))
}

/// The work that the holder of the instance runs.
fn inline_work(connection: &Connection, key: i64, id: &InstanceId) -> Step<Vec<OpenActivity>> {
    let mut statement = connection.prepare_cached(sql::INLINE_WORK_READ)?;
    let found = statement.query_row([key], |row| {
        let inline = row.get_ref(2)?.as_blob_or_null()?;
        let execution_id = ExecutionId::new(uint(row.get(0)?));
        let session = SessionId(uint(row.get(1)?));
        Ok((execution_id, session, InlineWork::from_bytes(inline)))
    });
    let Some((execution_id, session, inline)) = found.optional()? else {
        return Ok(Vec::new());
    };
    if inline.is_damaged() {
        return Err(unreadable_inline_work(id).into());
    }
    let mut statement = connection.prepare_cached(sql::HISTORY_ENTRY)?;
    let open = inline.calls().map(|(event_id, number)| {
        let at = [key, int(execution_id.get()), int(event_id.get())];
        let entry: Option<Vec<u8>> = statement.query_row(at, |row| row.get(0)).optional()?;
        let source = SourceEvent::new(execution_id, event_id);
        let item = work_item_of(id, source, number, entry.as_deref())?;
        Ok(OpenActivity::new(item, WorkState::Held { session }))
    });
    open.collect()
}

/// The columns of `work_open.sql`.
fn work_in_row(id: &InstanceId, row: &Row<'_>) -> Step<OpenActivity> {
    let source = source_of(row)?;
    let blob = |column: usize| -> rusqlite::Result<Option<&[u8]>> {
        Ok(row.get_ref(column)?.as_blob_or_null()?)
    };
    let item = work_item_of(id, source, uint(row.get(2)?), blob(10)?)?;
    let holder: i64 = row.get(3)?;
    let state = match holder > 0 {
        true => WorkState::Held {
            session: SessionId(uint(holder)),
        },
        false => WorkState::Queued {
            ready_at_ms: uint(row.get(4)?),
        },
    };
    let what = format_args!("why a call of `{id}` failed, {source}");
    let failure = blob(9)?.map(|bytes| failure_of(what, bytes));
    let failure: Result<_, ProviderError> = failure.transpose();
    let mut open = OpenActivity::new(item, state);
    open.attempt = count(row.get(5)?).saturating_add(1);
    open.crashes = count(row.get(6)?);
    open.is_cancelled = row.get(7)?;
    open.heartbeat = row.get::<_, Option<String>>(8)?.map(Payload::from);
    open.last_failure = failure?;
    Ok(open)
}

/// An execution and an event in the first two columns.
fn source_of(row: &Row<'_>) -> rusqlite::Result<SourceEvent> {
    let execution_id = ExecutionId::new(uint(row.get(0)?));
    Ok(SourceEvent::new(
        execution_id,
        EventId::new(uint(row.get(1)?)),
    ))
}
