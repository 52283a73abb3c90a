INSERT INTO work (
    instance_key, execution_id, event_id, number, lane, session_id, token, ready_at_ms,
    ready_number, failures, crashes, is_cancelled, heartbeat,
    last_failure
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, 0, NULL, NULL)
