-- Keeps a session.
if has_late_session() then return finish('LATE') end
local session = arg()
if not is_live(session) then return finish('LOST') end
local timeout = tonumber(call('HGET', K.meta, 'b:' .. session))
call('ZADD', K.sessions, text(now + timeout + 1), session)
return finish('OK')
