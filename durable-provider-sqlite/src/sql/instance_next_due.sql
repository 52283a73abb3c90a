SELECT ready_at_ms
FROM instance
WHERE session_id = 0 AND ready_at_ms > ?1
ORDER BY ready_at_ms
LIMIT 1
