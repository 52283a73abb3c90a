-- Of the instance to which any process appended last.
SELECT committed_at_ms
FROM instance
WHERE key = (
    SELECT instance_key FROM history WHERE rowid = (SELECT max(rowid) FROM history)
)
