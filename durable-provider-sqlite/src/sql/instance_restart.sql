UPDATE instance
SET execution_id = ?2, last_event_id = 0, status_kind = ?3, updated_at_ms = ?4, is_blocked = 0
WHERE key = ?1
