SELECT item_offset, octet_length(value)
FROM stream_item
WHERE instance_key = ?1 AND stream = ?2
ORDER BY item_offset
