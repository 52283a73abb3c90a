-- The answer to a request.
SELECT answer.result
FROM record CROSS JOIN answer
WHERE record.id = ?1
  AND answer.instance_key = record.key
  AND answer.message_id = ?2
