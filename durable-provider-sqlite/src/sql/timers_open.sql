SELECT execution_id, event_id, fire_at_ms
FROM timer
WHERE instance_key = ?1 AND (execution_id, event_id) > (?2, ?3)
ORDER BY execution_id, event_id
LIMIT ?4
