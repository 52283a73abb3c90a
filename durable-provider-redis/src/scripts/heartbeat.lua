-- Keeps a session. KEYS: base, the session.
if has_late_session() then return finish('LATE') end
local session = arg()
if not is_live(session) then return finish('LOST') end
local timeout = call('HGET', KEYS[BASE_KEYS + 1], 'timeout')
call('ZADD', K.sessions, late_at(timeout), session)
return finish('OK')
