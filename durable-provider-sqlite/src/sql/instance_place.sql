UPDATE instance
SET holder = ?2, token = ?3, given_seq = ?4, ready_at_ms = ?5, ready_number = ?6,
    not_before_ms = ?7, must_run = ?8, crashes = ?9, status_kind = ?10, updated_at_ms = ?11,
    code = ?12
WHERE key = ?1
