SELECT ready_at_ms, ready_number, key
FROM instance
WHERE holder = ?1 AND ready_at_ms <= ?2
ORDER BY ready_at_ms, ready_number
LIMIT ?3
