-- Keeps a session, and says which of its work was cancelled.
if has_late_session() then return finish('LATE') end
local session = arg()
if not is_live(session) then return finish('LOST') end
local timeout = tonumber(call('HGET', K.meta, 'b:' .. session))
call('ZADD', K.sessions, text(now + timeout + 1), session)
local prefix = padded(session)
local members = call('ZRANGEBYLEX', K.cancelled, '[' .. prefix .. ':', '(' .. prefix .. ';')
for i, member in ipairs(members) do members[i] = string.sub(member, #prefix + 2) end
return finish('OK', members)
