-- Ends a session in good order: from now on it is late, without a crash. KEYS: base, the
-- session.
if has_late_session() then return finish('LATE') end
local session = arg()
if call('ZSCORE', K.sessions, session) then
  call('ZADD', K.sessions, 0, session)
  call('HSET', KEYS[BASE_KEYS + 1], 'closed', '1')
end
return finish('OK')
