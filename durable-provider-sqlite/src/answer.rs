//! The answer to a commit as it is kept beside the commit's id, so that the same
//! commit sent again gets the same answer.
//!
//! Only what cannot be found elsewhere is kept: which work was claimed under which
//! token, and which call of its execution it is. The items themselves stand in the history.

use durable_core::provider::{ClaimedWork, SourceEvent};
use durable_core::{EventId, ExecutionId};

/// One claimed work item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claimed {
    pub(crate) instance_key: i64,
    pub(crate) source: SourceEvent,
    pub(crate) number: u64,
    pub(crate) token: u64,
    pub(crate) attempt: u32,
    pub(crate) crashes: u32,
}

const FLAG_BYTES: usize = 1;
/// The inbox had messages.
const HAS_MESSAGES: u8 = 1;
const CLAIMED_BYTES: usize = 48;

impl Claimed {
    pub(crate) fn new(instance_key: i64, work: &ClaimedWork) -> Self {
        Self {
            instance_key,
            source: work.lease.key.source(),
            number: work.item.number,
            token: work.lease.token,
            attempt: work.attempt,
            crashes: work.crashes,
        }
    }
}

/// The bytes of an answer; none for the most common one.
pub(crate) fn to_bytes(has_messages: bool, claimed: &[Claimed]) -> Option<Vec<u8>> {
    if !has_messages && claimed.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(FLAG_BYTES + claimed.len() * CLAIMED_BYTES);
    bytes.push(if has_messages { HAS_MESSAGES } else { 0 });
    for claimed in claimed {
        bytes.extend(claimed.instance_key.to_le_bytes());
        bytes.extend(claimed.source.execution_id.get().to_le_bytes());
        bytes.extend(claimed.source.event_id.get().to_le_bytes());
        bytes.extend(claimed.token.to_le_bytes());
        bytes.extend(claimed.attempt.to_le_bytes());
        bytes.extend(claimed.crashes.to_le_bytes());
        bytes.extend(claimed.number.to_le_bytes());
    }
    Some(bytes)
}

/// An answer from its bytes; `None` if they are no answer.
pub(crate) fn from_bytes(bytes: Option<&[u8]>) -> Option<(bool, Vec<Claimed>)> {
    let Some(bytes) = bytes else {
        return Some((false, Vec::new()));
    };
    let (flags, rest) = bytes.split_first()?;
    let has_messages = match *flags {
        0 => false,
        HAS_MESSAGES => true,
        _ => return None,
    };
    let (items, []) = rest.as_chunks::<CLAIMED_BYTES>() else {
        return None;
    };
    let claimed: Option<Vec<Claimed>> = items.iter().map(claimed).collect();
    Some((has_messages, claimed?))
}

fn claimed(bytes: &[u8; CLAIMED_BYTES]) -> Option<Claimed> {
    let (words, _) = bytes.as_chunks::<8>();
    let [key, execution, event, token, counts, number] = words else {
        return None;
    };
    let [a, b, c, d, e, f, g, h] = *counts;
    Some(Claimed {
        instance_key: i64::from_le_bytes(*key),
        source: SourceEvent::new(
            ExecutionId::new(u64::from_le_bytes(*execution)),
            EventId::new(u64::from_le_bytes(*event)),
        ),
        number: u64::from_le_bytes(*number),
        token: u64::from_le_bytes(*token),
        attempt: u32::from_le_bytes([a, b, c, d]),
        crashes: u32::from_le_bytes([e, f, g, h]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_survives() {
        let claimed = |number: u64| Claimed {
            instance_key: -7,
            source: SourceEvent::new(ExecutionId::new(2), EventId::new(3 + number)),
            number,
            token: u64::MAX,
            attempt: 1,
            crashes: 4,
        };
        assert_eq!(from_bytes(None), Some((false, Vec::new())));
        assert_eq!(to_bytes(false, &[]), None);
        for claims in [vec![], vec![claimed(0)], vec![claimed(1), claimed(2)]] {
            let bytes = to_bytes(true, &claims);
            assert_eq!(from_bytes(bytes.as_deref()), Some((true, claims)));
        }
    }

    #[test]
    fn other_bytes_are_none() {
        assert_eq!(from_bytes(Some(&[])), None);
        assert_eq!(from_bytes(Some(&[2])), None);
        assert_eq!(from_bytes(Some(&[0; 40])), None);
        assert_eq!(from_bytes(Some(&[HAS_MESSAGES; 48])), None);
    }
}
