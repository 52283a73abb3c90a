SELECT record.id, work.execution_id, work.event_id
FROM work
JOIN record ON record.key = work.instance_key
WHERE work.session_id = ?1 AND work.is_cancelled = 1
