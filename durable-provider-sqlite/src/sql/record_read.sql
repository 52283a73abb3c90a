SELECT
    record.id, instance.execution_id, record.name, record.version, instance.status_kind,
    record.status, record.blocked, record.custom_status, record.parent_instance,
    record.parent_execution_id, record.parent_event_id, instance.last_event_id,
    record.created_at_ms, instance.updated_at_ms, record.key, record.begins_at_ms
FROM record
JOIN instance ON instance.key = record.key
WHERE record.id = ?1
