-- ?1 of instances from this key on; ?2 so many executions stay.
SELECT
    past_execution.instance_key, past_execution.execution_id, past_execution.last_event_id,
    (
        SELECT count(*) FROM work
        WHERE work.instance_key = past_execution.instance_key
            AND work.execution_id = past_execution.execution_id
    )
FROM past_execution
CROSS JOIN instance ON instance.key = past_execution.instance_key
WHERE past_execution.instance_key >= ?1
    AND past_execution.execution_id <= instance.execution_id - ?2
ORDER BY past_execution.instance_key, past_execution.execution_id
