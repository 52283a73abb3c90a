SELECT ready_at_ms
FROM instance
WHERE holder = ?1 AND ready_at_ms > ?2
ORDER BY ready_at_ms
LIMIT 1
