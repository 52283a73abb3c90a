SELECT name, execution_id, event_id, changed_at_ms, value
FROM instance_view
WHERE instance_key = ?1 AND name > ?2
ORDER BY name
LIMIT ?3
