SELECT record.id, poisoned.execution_id, poisoned.event_id, poisoned.number, poisoned.failure,
    history.entry
FROM poisoned CROSS JOIN record ON record.key = poisoned.instance_key
LEFT JOIN history ON history.instance_key = poisoned.instance_key
    AND history.execution_id = poisoned.execution_id
    AND history.event_id = poisoned.event_id
WHERE (record.id, poisoned.execution_id, poisoned.event_id) > (?1, ?2, ?3)
ORDER BY record.id, poisoned.execution_id, poisoned.event_id
LIMIT ?4
