UPDATE work
SET session_id = ?4, token = ?5
WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3
