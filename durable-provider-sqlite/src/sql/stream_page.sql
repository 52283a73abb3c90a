SELECT item_offset, added_at_ms, execution_id, event_id, attempt, number, value
FROM stream_item
WHERE instance_key = ?1 AND stream = ?2 AND item_offset >= ?3
ORDER BY item_offset
LIMIT ?4
