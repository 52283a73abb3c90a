UPDATE record
SET name = coalesce(?2, name), version = coalesce(?3, version), status = coalesce(?4, status),
    custom_status = coalesce(?5, custom_status), blocked = ?6
WHERE key = ?1
