-- Unless a message with this id is there.
INSERT INTO inbox (instance_key, seq, message_id, message)
SELECT ?1, ?2, ?3, ?4
WHERE NOT EXISTS (SELECT 1 FROM inbox WHERE instance_key = ?1 AND message_id = ?3)
