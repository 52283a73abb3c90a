UPDATE work
SET session_id = 0, ready_at_ms = ?4, ready_number = ?5, failures = failures + ?6,
    crashes = crashes + ?7
WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3
