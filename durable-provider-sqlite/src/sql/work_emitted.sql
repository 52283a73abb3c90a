UPDATE work SET emit_token = ?4, emitted = ?5
WHERE instance_key = ?1 AND execution_id = ?2 AND event_id = ?3
