//! Work items.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::super::field::Frozen;
use super::super::parse;
use super::super::parts::ActivityOptionsR1;
use super::{Read, write};
use crate::codec::error::{EncodeError, PayloadFault};
use crate::codec::record::RecordKind;
use crate::provider::{WorkItem, WorkKey};

frozen! {
    WorkItemR1<'a> {
        instance: &'a str,
        execution_id: u64,
        event_id: u64,
        number: Option<u64>,
        name: &'a str,
        input: &'a str,
        #[serde(borrow)]
        options: ActivityOptionsR1<'a>,
        scheduled_at_ms: u64,
    }
}

/// Appends a work item.
pub(in crate::codec) fn write_work_item(
    item: &WorkItem,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let WorkItem {
        key:
            WorkKey {
                instance,
                execution_id,
                event_id,
            },
        number,
        name,
        input,
        options,
        scheduled_at_ms,
    } = item;
    let frozen = freeze!(WorkItemR1 {
        instance,
        execution_id,
        event_id,
        number,
        name,
        input,
        options,
        scheduled_at_ms
    });
    write(RecordKind::WorkItem, &frozen, out)
}

/// Reads a work item.
pub(in crate::codec) fn read_work_item(kind: RecordKind, payload: &[u8]) -> Read<WorkItem> {
    if kind != RecordKind::WorkItem {
        return Ok(None);
    }
    thaw(parse(payload)?).map(Some)
}

fn thaw(frozen: WorkItemR1<'_>) -> Result<WorkItem, PayloadFault> {
    Ok(WorkItem {
        key: WorkKey {
            instance: Frozen::thaw(frozen.instance)?,
            execution_id: Frozen::thaw(frozen.execution_id)?,
            event_id: Frozen::thaw(frozen.event_id)?,
        },
        number: frozen.number,
        name: Frozen::thaw(frozen.name)?,
        input: Frozen::thaw(frozen.input)?,
        options: Frozen::thaw(frozen.options)?,
        scheduled_at_ms: frozen.scheduled_at_ms,
    })
}
