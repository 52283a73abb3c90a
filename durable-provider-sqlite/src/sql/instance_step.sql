-- A turn that changes neither the holder nor the place among what is ready.
UPDATE instance
SET execution_id = ?2, last_event_id = ?3, status_kind = ?4, updated_at_ms = ?5,
    commit_id = ?6, committed_at_ms = ?7, commit_answer = ?8, not_before_ms = ?9,
    is_blocked = ?10, inline_work = ?11, code = ?12, must_run = 0, crashes = 0
WHERE key = ?1
