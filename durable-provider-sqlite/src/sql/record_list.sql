-- ?1 after this id or, if ?2, from it on; ?3 the name; ?4 a bit for each status;
-- ?5 changed before.
SELECT
    record.id, instance.execution_id, record.name, record.version, instance.status_kind,
    record.status, record.blocked, record.custom_status, record.parent_instance,
    record.parent_execution_id, record.parent_event_id, instance.last_event_id,
    record.created_at_ms, instance.updated_at_ms, record.key, record.begins_at_ms
FROM record
JOIN instance ON instance.key = record.key
WHERE record.id >= ?1
    AND (?2 OR record.id > ?1)
    AND (?3 IS NULL OR record.name = ?3)
    AND ?4 & (1 << instance.status_kind)
    AND instance.updated_at_ms < ?5
ORDER BY record.id
