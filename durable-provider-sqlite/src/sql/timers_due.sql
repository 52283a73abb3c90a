SELECT instance_key, execution_id, event_id, fire_at_ms
FROM timer
WHERE fire_at_ms <= ?1
ORDER BY fire_at_ms, number
LIMIT ?2
