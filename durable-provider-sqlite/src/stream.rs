//! Reading the streams of an instance. Nothing here changes anything.

use durable_core::provider::{
    SourceEvent, StreamBounds, StreamItem, StreamList, StreamPage, StreamSource,
};
use durable_core::{EventId, ExecutionId, InstanceId, Name};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::Step;
use crate::number::{int, limit, uint};
use crate::query::key_of;
use crate::sql;

pub(crate) fn stream(
    connection: &Connection,
    id: &InstanceId,
    stream: &Name,
    from: u64,
    max: usize,
) -> Step<StreamPage> {
    let snapshot = connection.unchecked_transaction()?;
    let Some(key) = key_of(&snapshot, id)? else {
        return Ok(StreamPage::default());
    };
    let mut statement = snapshot.prepare_cached(sql::STREAM_READ)?;
    let bounds = statement.query_row(params![key, stream.as_str()], |row| bounds(row, 0));
    let Some(bounds) = bounds.optional()? else {
        return Ok(StreamPage::default());
    };
    let mut statement = snapshot.prepare_cached(sql::STREAM_PAGE)?;
    let later = params![key, stream.as_str(), int(from), limit(max)];
    let items = statement.query_map(later, item)?;
    Ok(StreamPage::new(bounds, items.collect::<Result<_, _>>()?))
}

pub(crate) fn streams(
    connection: &Connection,
    id: &InstanceId,
    after: Option<&Name>,
    max: usize,
) -> Step<StreamList> {
    let snapshot = connection.unchecked_transaction()?;
    let Some(key) = key_of(&snapshot, id)? else {
        return Ok(StreamList::default());
    };
    let mut statement = snapshot.prepare_cached(sql::STREAMS_PAGE)?;
    // No stream has an empty name.
    let from = after.map_or("", Name::as_str);
    let later = params![key, from, limit(max.saturating_add(1))];
    let streams = statement.query_map(later, |row| {
        Ok((Name::from(row.get::<_, String>(0)?), bounds(row, 1)?))
    })?;
    let streams = streams.collect::<Result<_, _>>()?;
    Ok(StreamList::first(streams, after, max))
}

/// Three columns from this one on.
fn bounds(row: &Row<'_>, column: usize) -> rusqlite::Result<StreamBounds> {
    Ok(StreamBounds {
        first: uint(row.get(column)?),
        end: uint(row.get(column + 1)?),
        bytes: uint(row.get(column + 2)?),
    })
}

/// The columns of `stream_page.sql`.
fn item(row: &Row<'_>) -> rusqlite::Result<StreamItem> {
    let execution: Option<i64> = row.get(2)?;
    let source = match execution {
        None => StreamSource::Orchestration,
        Some(execution) => StreamSource::Activity {
            call: SourceEvent::new(
                ExecutionId::new(uint(execution)),
                EventId::new(uint(row.get(3)?)),
            ),
            attempt: row.get(4)?,
            number: uint(row.get(5)?),
        },
    };
    let value: String = row.get(6)?;
    let (offset, added_at_ms) = (uint(row.get(0)?), uint(row.get(1)?));
    Ok(StreamItem::new(offset, source, added_at_ms, value.into()))
}
