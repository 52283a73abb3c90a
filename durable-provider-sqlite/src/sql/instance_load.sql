SELECT
    execution_id, last_event_id, status_kind, updated_at_ms, commit_id, holder, token,
    given_seq, ready_at_ms, ready_number, not_before_ms, must_run, is_blocked, crashes,
    inline_work, code
FROM instance
WHERE key = ?1
