//! Reading whole things page by page: instances, histories.

use durable_core::filter::{Filter, InstanceQuery, Order};
use durable_core::provider::InstanceRecord;
use durable_core::{EventId, ExecutionId, History, HistoryEntry, InstanceId};

use crate::error::CliError;
use crate::store::Store;

/// How many rows are read at once.
pub(crate) const PAGE: usize = 500;

/// The record of an instance, which must be there.
pub(crate) async fn record(store: &Store, id: &str) -> Result<InstanceRecord, CliError> {
    let instance = store.client().instance::<(), ()>("", id);
    Ok(instance.record().await?)
}

/// Every instance that is meant, by id.
pub(crate) async fn records(
    store: &Store,
    filter: &Filter,
) -> Result<Vec<InstanceRecord>, CliError> {
    let by_id = InstanceQuery::new(filter.clone()).ordered(Order::BY_ID);
    Ok(store.client().instances(by_id).all().await?)
}

/// The execution that was asked for, or the latest; it must be stored.
pub(crate) async fn execution(
    store: &Store,
    record: &InstanceRecord,
    asked: Option<u64>,
) -> Result<ExecutionId, CliError> {
    let Some(number) = asked else {
        return Ok(record.execution_id);
    };
    let asked = ExecutionId::new(number);
    let stored = store.provider().executions(&record.instance).await?;
    match stored.iter().any(|stored| stored.execution_id == asked) {
        true => Ok(asked),
        false => Err(CliError::NoExecution {
            instance: record.instance.clone(),
            execution_id: number,
            latest: record.execution_id,
        }),
    }
}

/// The events of an execution after this one, at most so many.
pub(crate) async fn entries(
    store: &Store,
    instance: &InstanceId,
    execution_id: ExecutionId,
    after: EventId,
    limit: usize,
) -> Result<Vec<HistoryEntry>, CliError> {
    let mut entries: Vec<HistoryEntry> = Vec::new();
    let mut after = after;
    loop {
        let page = store
            .provider()
            .history(
                instance,
                execution_id,
                after,
                PAGE.min(limit - entries.len()),
            )
            .await?;
        let Some(last) = page.entries.last() else {
            return Ok(entries);
        };
        after = last.event_id();
        entries.extend(page.entries);
        if !page.has_more || entries.len() >= limit {
            return Ok(entries);
        }
    }
}

/// The whole history of an execution.
pub(crate) async fn history(
    store: &Store,
    instance: &InstanceId,
    execution_id: ExecutionId,
) -> Result<History, CliError> {
    let entries = entries(
        store,
        instance,
        execution_id,
        EventId::UNASSIGNED,
        usize::MAX,
    );
    Ok(History::new(instance.clone(), execution_id, entries.await?))
}

/// The histories of all executions of an instance that are still stored.
pub(crate) async fn histories(
    store: &Store,
    instance: &InstanceId,
) -> Result<Vec<History>, CliError> {
    let mut histories = Vec::new();
    for execution in store.provider().executions(instance).await? {
        histories.push(history(store, instance, execution.execution_id).await?);
    }
    Ok(histories)
}
