-- Version 1 of the schema. Applied once, in one transaction, to an empty file.
--
-- Numbers that must only rise (instance keys, session ids, fencing tokens, places in
-- inboxes, the order in which things became ready) are given in the order of
-- `meta.last_number`, which is moved ahead of them, so none is ever used again.

CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The store's time at the latest change, unless that was a turn that appended to a
    -- history: then `instance.committed_at_ms` says it.
    now_ms INTEGER NOT NULL,
    last_number INTEGER NOT NULL
) STRICT;

INSERT INTO meta (id, now_ms, last_number) VALUES (1, 0, 0);

CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    -- What its node said of itself, as JSON.
    options TEXT NOT NULL,
    last_heartbeat_ms INTEGER NOT NULL
) STRICT;

-- The code that instances need. Rows are only added, with numbers from 1 on. Without a
-- version (the empty text) any version will do.
CREATE TABLE code (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    version TEXT NOT NULL
) STRICT;

-- The lanes of work: one activity in one queue. Rows are only added, with numbers from 1 on.
-- The default queue has no name.
CREATE TABLE lane (
    number INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    activity TEXT NOT NULL
) STRICT;

-- What a turn changes of an instance: small, so that a step rewrites few bytes.
CREATE TABLE instance (
    key INTEGER PRIMARY KEY,
    execution_id INTEGER NOT NULL,
    last_event_id INTEGER NOT NULL,
    status_kind INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    -- The last commit, the store's time then, and its answer.
    commit_id BLOB,
    committed_at_ms INTEGER NOT NULL,
    commit_answer BLOB,
    -- The number of the code that a session needs to claim it; 0 if it needs none.
    code INTEGER NOT NULL,
    -- The session that holds the lease, or the code with a minus sign if there is none.
    holder INTEGER NOT NULL,
    token INTEGER NOT NULL,
    -- Messages up to here were given to the holder.
    given_seq INTEGER NOT NULL,
    -- Its place among what is ready, while it is.
    ready_at_ms INTEGER,
    ready_number INTEGER,
    not_before_ms INTEGER NOT NULL,
    must_run INTEGER NOT NULL,
    is_blocked INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    -- Activities that the holder of the instance runs, see `store/inline_work.rs`; NULL if
    -- there are none.
    inline_work BLOB
) STRICT;

CREATE INDEX instance_place ON instance (holder, ready_at_ms, ready_number);

-- What is known of an instance and seldom changes.
CREATE TABLE record (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT,
    status BLOB NOT NULL,
    blocked BLOB,
    custom_status TEXT,
    parent_instance TEXT,
    parent_execution_id INTEGER,
    parent_event_id INTEGER,
    created_at_ms INTEGER NOT NULL,
    start_message_id TEXT NOT NULL,
    start_execution_id INTEGER NOT NULL,
    -- When the start is to begin, if it is delayed.
    begins_at_ms INTEGER
) STRICT;

CREATE UNIQUE INDEX record_id ON record (id);

-- The names of attributes, each with the type of its values. Rows are only added, with numbers
-- from 1 on.
CREATE TABLE attribute_name (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    kind INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX attribute_name_kind ON attribute_name (name, kind);

-- What instances are found by. Texts are compared by their bytes.
CREATE TABLE attribute (
    name INTEGER NOT NULL,
    value ANY NOT NULL,
    instance_key INTEGER NOT NULL,
    PRIMARY KEY (name, value, instance_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX attribute_instance ON attribute (instance_key);

-- Starts before the one in `record`, of instances that were started anew.
CREATE TABLE earlier_start (
    instance_key INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    execution_id INTEGER NOT NULL,
    PRIMARY KEY (instance_key, message_id)
) STRICT, WITHOUT ROWID;

-- Executions before the one in `instance`.
CREATE TABLE past_execution (
    instance_key INTEGER NOT NULL,
    execution_id INTEGER NOT NULL,
    last_event_id INTEGER NOT NULL,
    PRIMARY KEY (instance_key, execution_id)
) STRICT, WITHOUT ROWID;

-- The highest execution of instances that were removed.
CREATE TABLE purged (
    id TEXT NOT NULL PRIMARY KEY,
    execution_id INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
    instance_key INTEGER NOT NULL,
    execution_id INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    entry BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX history_position ON history (instance_key, execution_id, event_id);

CREATE TABLE inbox (
    instance_key INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    message BLOB NOT NULL,
    PRIMARY KEY (instance_key, seq)
) STRICT, WITHOUT ROWID;

-- Not unique: a start is put beside an older message that has its id.
CREATE INDEX inbox_message ON inbox (instance_key, message_id);

-- Work that is queued, or that a session holds. What is called with which input stands in
-- the entry of the history that has the same key.
CREATE TABLE work (
    instance_key INTEGER NOT NULL,
    execution_id INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    -- Which activity call of its execution it is.
    number INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    -- The session that holds the lease; 0 if there is none, -1 if the entry is damaged and
    -- no session can claim the work.
    session_id INTEGER NOT NULL,
    token INTEGER NOT NULL,
    ready_at_ms INTEGER NOT NULL,
    ready_number INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    is_cancelled INTEGER NOT NULL,
    heartbeat TEXT,
    -- Why the attempt before this one failed.
    last_failure BLOB,
    PRIMARY KEY (instance_key, execution_id, event_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX work_place ON work (session_id, lane, ready_at_ms, ready_number);
CREATE INDEX work_cancelled ON work (session_id) WHERE is_cancelled = 1;

-- Dead letters: poisoned work, kept for inspection. What was called stands in the history.
CREATE TABLE poisoned (
    instance_key INTEGER NOT NULL,
    execution_id INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    failure BLOB NOT NULL,
    PRIMARY KEY (instance_key, execution_id, event_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE timer (
    instance_key INTEGER NOT NULL,
    execution_id INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    fire_at_ms INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (instance_key, execution_id, event_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX timer_due ON timer (fire_at_ms, number);
