-- Opens a session in this partition, with what its node says of itself and the fields that
-- say which code it has. KEYS: base, the session.
if has_late_session() then return finish('LATE') end
local session, timeout, options = arg(), arg(), arg()
call('ZADD', K.sessions, late_at(timeout), session)
call('HSET', KEYS[BASE_KEYS + 1], 'timeout', timeout, 'options', options)
for from = place + 1, #ARGV, 4000 do
  call('HSET', KEYS[BASE_KEYS + 1], unpack(ARGV, from, math.min(from + 3999, #ARGV)))
end
return finish('OK')
