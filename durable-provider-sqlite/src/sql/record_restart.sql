UPDATE record
SET name = ?2, version = ?3, status = ?4, parent_instance = ?5, parent_execution_id = ?6,
    parent_event_id = ?7, created_at_ms = ?8, start_message_id = ?9, start_execution_id = ?10,
    begins_at_ms = ?11, blocked = NULL, custom_status = NULL
WHERE key = ?1
