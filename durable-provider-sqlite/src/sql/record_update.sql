UPDATE record
SET name = coalesce(?2, name), version = coalesce(?3, version), status = coalesce(?4, status),
    custom_status = CASE WHEN ?6 THEN ?5 ELSE custom_status END, blocked = ?7
WHERE key = ?1
