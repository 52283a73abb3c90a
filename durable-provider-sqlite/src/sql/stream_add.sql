INSERT INTO stream_item
    (instance_key, stream, item_offset, added_at_ms, execution_id, event_id, attempt, number, value)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
