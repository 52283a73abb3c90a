//! Reading the views of an instance. Nothing here changes anything.

use durable_core::provider::{SourceEvent, ViewPage, ViewRecord};
use durable_core::{EventId, ExecutionId, InstanceId, Name};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::Step;
use crate::number::{limit, uint};
use crate::query::key_of;
use crate::sql;

pub(crate) fn view(
    connection: &Connection,
    id: &InstanceId,
    name: &Name,
) -> Step<Option<ViewRecord>> {
    let snapshot = connection.unchecked_transaction()?;
    let Some(key) = key_of(&snapshot, id)? else {
        return Ok(None);
    };
    let mut statement = snapshot.prepare_cached(sql::VIEW_READ)?;
    let found = statement.query_row(params![key, name.as_str()], record);
    Ok(found.optional()?)
}

pub(crate) fn views(
    connection: &Connection,
    id: &InstanceId,
    after: Option<&Name>,
    max: usize,
) -> Step<ViewPage> {
    let snapshot = connection.unchecked_transaction()?;
    let Some(key) = key_of(&snapshot, id)? else {
        return Ok(ViewPage::default());
    };
    let mut statement = snapshot.prepare_cached(sql::VIEWS_PAGE)?;
    // No view has an empty name.
    let from = after.map_or("", Name::as_str);
    let later = params![key, from, limit(max.saturating_add(1))];
    let views = statement.query_map(later, record)?;
    let views = views.collect::<Result<_, _>>()?;
    Ok(ViewPage::first(views, after, max))
}

/// The columns of `view_read.sql` and `views_page.sql`.
fn record(row: &Row<'_>) -> rusqlite::Result<ViewRecord> {
    let name: String = row.get(0)?;
    let execution_id = ExecutionId::new(uint(row.get(1)?));
    let event_id = EventId::new(uint(row.get(2)?));
    let value: String = row.get(4)?;
    Ok(ViewRecord::new(
        name.into(),
        value.into(),
        SourceEvent::new(execution_id, event_id),
        uint(row.get(3)?),
    ))
}
