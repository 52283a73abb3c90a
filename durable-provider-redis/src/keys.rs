//! The names of all keys. The hash tag comes first, so that no instance can move a key to
//! another slot, and what an id could contain comes last, so that none can collide with
//! another key.

use durable_core::provider::{SessionId, SourceEvent, WorkKey};
use durable_core::{EventId, ExecutionId, InstanceId};

/// The keys that every script declares, in the order of `prelude.lua`.
const BASE: [&str; 16] = [
    "m", "s", "r", "mail", "held", "w", "holds", "cw", "t", "x", "e", "o", "hwm", "p", "q", "a",
];

/// One partition: everything of an instance is in one of them.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) number: usize,
    /// The cluster's slot of all keys of the partition.
    pub(crate) slot: u16,
    tag: String,
    pub(crate) base: Vec<String>,
}

impl Partition {
    pub(crate) fn new(prefix: &str, number: usize) -> Self {
        let tag = format!("{{{prefix}:{number}}}");
        let base = BASE.iter().map(|name| format!("{tag}:{name}")).collect();
        Self {
            number,
            slot: slot_of(&format!("{prefix}:{number}")),
            tag,
            base,
        }
    }

    /// All instances, by id.
    pub(crate) fn index(&self) -> String {
        format!("{}:x", self.tag)
    }

    /// Messages to other partitions.
    pub(crate) fn outbox(&self) -> String {
        format!("{}:o", self.tag)
    }

    /// Dead letters.
    pub(crate) fn poison(&self) -> String {
        format!("{}:p", self.tag)
    }

    /// The work items, their leases and what attempts left.
    pub(crate) fn work(&self) -> String {
        format!("{}:w", self.tag)
    }

    /// The record of an instance.
    pub(crate) fn instance(&self, id: &str) -> String {
        format!("{}:i:{id}", self.tag)
    }

    /// The record, the inbox and the message ids of an instance.
    pub(crate) fn instance_keys(&self, id: &str) -> [String; 3] {
        let tag = &self.tag;
        [
            format!("{tag}:i:{id}"),
            format!("{tag}:in:{id}"),
            format!("{tag}:id:{id}"),
        ]
    }

    /// The inbox of an instance.
    pub(crate) fn inbox(&self, id: &str) -> String {
        let [_, inbox, _] = self.instance_keys(id);
        inbox
    }

    /// The history of an execution.
    pub(crate) fn history(&self, id: &str, execution_id: ExecutionId) -> String {
        format!("{}:h:{execution_id}:{id}", self.tag)
    }

    /// The items of a stream of an instance.
    pub(crate) fn stream(&self, id: &str, stream: &str) -> String {
        format!("{}:st:{}:{stream}:{id}", self.tag, stream.len())
    }

    /// What the node of a session says of itself.
    pub(crate) fn session(&self, session: SessionId) -> String {
        format!("{}:s:{}", self.tag, session.0)
    }
}

/// Where the format and the number of partitions are recorded.
pub(crate) fn store_key(prefix: &str) -> String {
    format!("{prefix}:store")
}

/// Where scripts publish what they changed.
pub(crate) fn change_channel(prefix: &str) -> String {
    format!("{prefix}:changes")
}

/// The partition of an instance: FNV-1a, which never changes.
pub(crate) fn partition_of(id: &str, partitions: usize) -> usize {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = id.bytes().fold(OFFSET, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    });
    // The low bits of FNV are its weakest.
    let mixed = hash ^ (hash >> 32);
    usize::try_from(mixed % partitions as u64).unwrap_or(0)
}

/// The cluster's slot of a hash tag: CRC-16 (XMODEM) modulo 16,384.
fn slot_of(tag: &str) -> u16 {
    let crc = tag.bytes().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| match crc & 0x8000 {
            0 => crc << 1,
            _ => (crc << 1) ^ 0x1021,
        })
    });
    crc % 16_384
}

/// The event that scheduled work or a timer, as it is written: `execution:event`.
pub(crate) fn source_text(source: SourceEvent) -> String {
    format!("{}:{}", source.execution_id, source.event_id)
}

/// A work key as it is written: `execution:event:instance`.
pub(crate) fn work_text(key: &WorkKey) -> String {
    format!("{}:{}", source_text(key.source()), key.instance)
}

/// A work key as it was written.
pub(crate) fn work_key(text: &str) -> Option<WorkKey> {
    let mut parts = text.splitn(3, ':');
    let execution_id = ExecutionId::new(parts.next()?.parse().ok()?);
    let event_id = EventId::new(parts.next()?.parse().ok()?);
    let instance = InstanceId::from(parts.next()?);
    Some(WorkKey::new(
        instance,
        SourceEvent::new(execution_id, event_id),
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const HOSTILE: [&str; 10] = [
        "a",
        "{b}",
        "}{",
        "1:2",
        "x:i:y",
        "\0",
        "",
        "w:gpu",
        "ü",
        "{durable:3}:m",
    ];

    #[test]
    fn no_name_makes_two_keys_equal_or_leaves_its_slot() {
        let partition = Partition::new("durable", 7);
        let mut seen: HashSet<String> = HashSet::new();
        let mut keys: Vec<String> = partition.base.clone();
        for name in HOSTILE {
            keys.extend(partition.instance_keys(name));
            for stream in HOSTILE {
                keys.push(partition.stream(name, stream));
            }
            for execution in [1, 12] {
                keys.push(partition.history(name, ExecutionId::new(execution)));
            }
        }
        keys.push(partition.session(SessionId(12)));
        for key in keys {
            assert!(key.starts_with("{durable:7}:"), "{key}");
            assert!(seen.insert(key.clone()), "{key} twice");
        }
    }

    #[test]
    fn work_keys_survive() {
        let source = SourceEvent::new(ExecutionId::new(3), EventId::new(12));
        for name in HOSTILE {
            let key = WorkKey::new(name.into(), source);
            assert_eq!(work_key(&work_text(&key)), Some(key));
        }
    }

    #[test]
    fn slots_are_those_of_the_server() {
        assert_eq!(slot_of("123456789"), 0x31c3);
    }

    #[test]
    fn the_partition_of_an_id_never_changes() {
        let partitions = ["order-1", "order-2", "", "a"].map(|id| partition_of(id, 64));
        assert_eq!(partitions, [50, 11, 1, 0]);
        let spread: HashSet<usize> = (0..1_000)
            .map(|number| partition_of(&format!("order-{number}"), 16))
            .collect();
        assert_eq!(spread.len(), 16);
    }
}
