SELECT record.id, poisoned.item, poisoned.failure
FROM poisoned CROSS JOIN record ON record.key = poisoned.instance_key
WHERE (record.id, poisoned.execution_id, poisoned.event_id) > (?1, ?2, ?3)
ORDER BY record.id, poisoned.execution_id, poisoned.event_id
LIMIT ?4
