INSERT OR REPLACE INTO instance_view
    (instance_key, name, execution_id, event_id, changed_at_ms, value)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
