-- The time of creation stays: keys are in its order.
UPDATE record
SET name = ?2, version = ?3, status = ?4, parent_instance = ?5, parent_execution_id = ?6,
    parent_event_id = ?7, start_message_id = ?8, start_execution_id = ?9, blocked = NULL,
    custom_status = NULL
WHERE key = ?1
