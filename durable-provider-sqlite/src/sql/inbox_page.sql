SELECT seq, message
FROM inbox
WHERE instance_key = ?1 AND seq > ?2
ORDER BY seq
LIMIT ?3
