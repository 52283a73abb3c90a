INSERT OR REPLACE INTO stream (instance_key, name, first_offset, end_offset, bytes)
VALUES (?1, ?2, ?3, ?4, ?5)
