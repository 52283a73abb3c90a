-- The sessions that live, and when each of them is late.
if has_late_session() then return finish('LATE') end
local sessions = call('ZRANGE', K.sessions, 0, -1, 'WITHSCORES')
for i = 2, #sessions, 2 do sessions[i] = text(tonumber(sessions[i])) end
return finish('OK', sessions)
