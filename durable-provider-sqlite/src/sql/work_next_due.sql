SELECT ready_at_ms
FROM work
WHERE session_id = 0 AND lane = ?1 AND ready_at_ms > ?2
ORDER BY ready_at_ms
LIMIT 1
