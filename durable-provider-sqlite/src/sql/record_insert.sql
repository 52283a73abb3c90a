INSERT INTO record (
    key, id, name, version, status, parent_instance, parent_execution_id, parent_event_id,
    created_at_ms, start_message_id, start_execution_id, begins_at_ms
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
