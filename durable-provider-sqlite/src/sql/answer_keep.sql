-- Keeps the answer to a request that has none.
INSERT OR IGNORE INTO answer (instance_key, number, message_id, result)
VALUES (?1, ?2, ?3, ?4)
