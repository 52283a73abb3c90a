SELECT instance_key, execution_id, event_id, lane, is_cancelled
FROM work
WHERE session_id = ?1
ORDER BY lane, ready_at_ms, ready_number
