INSERT INTO instance (
    key, execution_id, last_event_id, status_kind, updated_at_ms, committed_at_ms, code, holder,
    token, given_seq, ready_at_ms, ready_number, not_before_ms, must_run, is_blocked, crashes
) VALUES (?1, ?2, 0, ?3, ?4, 0, ?5, -?5, 0, 0, NULL, NULL, 0, 0, 0, 0)
