-- Ends a session in good order: from now on it is late, without a crash.
if has_late_session() then return finish('LATE') end
local session = arg()
if call('ZSCORE', K.sessions, session) then
  call('ZADD', K.sessions, 0, session)
  call('HSET', K.meta, 'c:' .. session, '1')
end
return finish('OK')
