SELECT
    ready_at_ms, ready_number, instance_key, execution_id, event_id, failures, crashes, heartbeat,
    item
FROM work
WHERE session_id = 0 AND queue = ?1 AND ready_at_ms <= ?2
ORDER BY ready_at_ms, ready_number
LIMIT ?3
