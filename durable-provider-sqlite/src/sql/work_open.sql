SELECT
    work.execution_id, work.event_id, work.number, work.session_id, work.ready_at_ms,
    work.failures, work.crashes, work.is_cancelled, work.heartbeat, work.last_failure,
    history.entry
FROM work
LEFT JOIN history ON history.instance_key = work.instance_key
    AND history.execution_id = work.execution_id
    AND history.event_id = work.event_id
WHERE work.instance_key = ?1 AND (work.execution_id, work.event_id) > (?2, ?3)
ORDER BY work.execution_id, work.event_id
LIMIT ?4
