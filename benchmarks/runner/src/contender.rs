//! Who takes part: this project, its peers, and the limits of the machine.
//!
//! This file is a table. The durability stands beside every name, since a number
//! without it says little.

use crate::server::Kind;

/// One engine with one setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contender {
    /// For the command line and for machines.
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) label: &'static str,
    /// What an acknowledged commit rests on.
    pub(crate) durability: &'static str,
    /// The folder below `benchmarks/`.
    pub(crate) package: &'static str,
    pub(crate) binary: &'static str,
    /// Which of its settings to use.
    pub(crate) settings: &'static str,
    pub(crate) server: Option<Kind>,
    /// Who writes to the same store without an engine.
    pub(crate) store: Option<&'static str>,
    pub(crate) role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Ours,
    Peer,
    /// No engine: what this project writes, and nothing else.
    Store,
    /// No engine and no store.
    Disk,
}

/// This project's setting that peers are compared with.
pub(crate) const REFERENCE: &str = "ours-sqlite-full";

pub(crate) const ALL: &[Contender] = &[
    ours(
        "ours-sqlite-full",
        "durable, SQLite",
        "WAL, synchronous=FULL",
        "bench-ours-sqlite",
        "full",
        None,
        Some("raw-sqlite"),
    ),
    limit(
        "raw-sqlite",
        "rusqlite alone, our rows",
        "WAL, synchronous=FULL",
        "sqlite",
        None,
        Role::Store,
    ),
    ours(
        "ours-sqlite-normal",
        "durable, SQLite",
        "WAL, synchronous=NORMAL",
        "bench-ours-sqlite",
        "normal",
        None,
        None,
    ),
    ours(
        "ours-redis-always",
        "durable, Redis",
        "appendfsync always",
        "bench-ours-redis",
        "always",
        Some(Kind::RedisAlways),
        Some("raw-redis-always"),
    ),
    limit(
        "raw-redis-always",
        "Redis alone, our scripts",
        "appendfsync always",
        "redis",
        Some(Kind::RedisAlways),
        Role::Store,
    ),
    ours(
        "ours-redis-everysec",
        "durable, Redis",
        "appendfsync everysec",
        "bench-ours-redis",
        "everysec",
        Some(Kind::RedisEverySecond),
        Some("raw-redis-everysec"),
    ),
    limit(
        "raw-redis-everysec",
        "Redis alone, our scripts",
        "appendfsync everysec",
        "redis",
        Some(Kind::RedisEverySecond),
        Role::Store,
    ),
    peer(
        "duroxide-default",
        "duroxide 0.1.32",
        SQLITE_NORMAL,
        "duroxide",
        "bench-duroxide",
        "default",
        None,
    ),
    peer(
        "duroxide-tuned",
        "duroxide 0.1.32, tuned",
        SQLITE_NORMAL,
        "duroxide",
        "bench-duroxide",
        "tuned",
        None,
    ),
    peer(
        "durust-default",
        "durust 0.2.3",
        SQLITE_FULL,
        "durust",
        "bench-durust",
        "default",
        None,
    ),
    peer(
        "durust-tuned",
        "durust 0.2.3, tuned",
        SQLITE_FULL,
        "durust",
        "bench-durust",
        "tuned",
        None,
    ),
    peer(
        "dbos-default",
        "DBOS 0.5.0",
        POSTGRES,
        "dbos",
        "bench-dbos",
        "default",
        Some(Kind::Postgres),
    ),
    peer(
        "dbos-tuned",
        "DBOS 0.5.0, tuned",
        POSTGRES,
        "dbos",
        "bench-dbos",
        "tuned",
        Some(Kind::Postgres),
    ),
    peer(
        "restate-default",
        "Restate 1.7.12",
        RESTATE,
        "restate",
        "bench-restate",
        "default",
        Some(Kind::Restate),
    ),
    peer(
        "restate-tuned",
        "Restate 1.7.12, tuned",
        RESTATE,
        "restate",
        "bench-restate",
        "tuned",
        Some(Kind::RestateTuned),
    ),
    limit(
        "raw-fdatasync",
        "the disk",
        "write of 4 KiB, fdatasync",
        "fdatasync",
        None,
        Role::Disk,
    ),
];

const SQLITE_FULL: &str = "WAL, synchronous=FULL";
const SQLITE_NORMAL: &str = "WAL, synchronous=NORMAL";
const POSTGRES: &str = "Postgres, synchronous_commit=on";
const RESTATE: &str = "server, log fsynced";

const fn ours(
    name: &'static str,
    label: &'static str,
    durability: &'static str,
    binary: &'static str,
    settings: &'static str,
    server: Option<Kind>,
    store: Option<&'static str>,
) -> Contender {
    Contender {
        name,
        label,
        durability,
        package: "ours",
        binary,
        settings,
        server,
        store,
        role: Role::Ours,
    }
}

const fn peer(
    name: &'static str,
    label: &'static str,
    durability: &'static str,
    package: &'static str,
    binary: &'static str,
    settings: &'static str,
    server: Option<Kind>,
) -> Contender {
    Contender {
        name,
        label,
        durability,
        package,
        binary,
        settings,
        server,
        store: None,
        role: Role::Peer,
    }
}

const fn limit(
    name: &'static str,
    label: &'static str,
    durability: &'static str,
    settings: &'static str,
    server: Option<Kind>,
    role: Role,
) -> Contender {
    Contender {
        name,
        label,
        durability,
        package: "raw",
        binary: "bench-raw",
        settings,
        server,
        store: None,
        role,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_reference_is_one_of_them() {
        let mut names: Vec<&str> = ALL.iter().map(|contender| contender.name).collect();
        assert!(names.contains(&REFERENCE));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn a_store_alone_runs_next_to_who_is_compared_with_it() {
        for pair in ALL.windows(2) {
            if let Some(store) = pair[0].store {
                assert_eq!((pair[1].name, pair[1].role), (store, Role::Store));
            }
        }
    }
}
