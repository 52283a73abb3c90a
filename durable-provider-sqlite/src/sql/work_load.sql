SELECT session_id, token, is_cancelled, lane, number
FROM work
WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3
