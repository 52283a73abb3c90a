SELECT name, first_offset, end_offset, bytes
FROM stream
WHERE instance_key = ?1 AND name > ?2
ORDER BY name
LIMIT ?3
