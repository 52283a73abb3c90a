UPDATE record
SET version = coalesce(?2, version), status = coalesce(?3, status), blocked = ?4
WHERE key = ?1
