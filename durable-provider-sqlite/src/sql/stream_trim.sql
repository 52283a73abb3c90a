DELETE FROM stream_item
WHERE instance_key = ?1 AND stream = ?2 AND item_offset < ?3
