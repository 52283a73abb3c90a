//! Payloads of earlier revisions: their frozen structs, and how each becomes
//! today's event. There are none yet.

use super::current;
use crate::codec::error::DecodeError;
use crate::event::EventKind;
use crate::history::HistoryEntry;

/// Reads a payload that is not of the current revision.
pub(super) fn decode(
    kind: EventKind,
    revision: u8,
    _payload: &[u8],
) -> Result<HistoryEntry, DecodeError> {
    Err(DecodeError::UnknownRevision {
        kind,
        newest: current::revision(kind),
        found: revision,
    })
}
