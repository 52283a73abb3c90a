UPDATE record
SET name = coalesce(?2, name), version = coalesce(?3, version), status = coalesce(?4, status),
    blocked = ?5
WHERE key = ?1
