SELECT instance_key, execution_id, event_id, queue, is_cancelled
FROM work
WHERE session_id = ?1
ORDER BY queue, ready_at_ms, ready_number
