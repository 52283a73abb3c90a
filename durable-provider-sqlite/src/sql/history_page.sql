SELECT event_id, entry
FROM history
WHERE instance_key = ?1 AND execution_id = ?2 AND event_id > ?3
ORDER BY event_id
LIMIT ?4
