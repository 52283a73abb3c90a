UPDATE record
SET version = coalesce(?2, version), status = coalesce(?3, status),
    custom_status = CASE WHEN ?5 THEN ?4 ELSE custom_status END, blocked = ?6
WHERE key = ?1
