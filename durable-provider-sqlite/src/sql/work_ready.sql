SELECT
    work.ready_at_ms, work.ready_number, work.instance_key, work.execution_id, work.event_id,
    work.number, work.failures, work.crashes, work.heartbeat, record.id, history.entry
FROM work
CROSS JOIN record ON record.key = work.instance_key
LEFT JOIN history ON history.instance_key = work.instance_key
    AND history.execution_id = work.execution_id
    AND history.event_id = work.event_id
WHERE work.session_id = 0 AND work.lane = ?1 AND work.ready_at_ms <= ?2
ORDER BY work.ready_at_ms, work.ready_number
LIMIT ?3
