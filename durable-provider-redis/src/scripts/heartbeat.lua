-- Keeps a session, and says which of its work was cancelled.
if has_late_session() then return { 'LATE' } end
local session = arg()
if not is_live(session) then return { 'LOST' } end
local bound = tonumber(call('HGET', K.meta, 'b:' .. session))
call('ZADD', K.sessions, text(now + bound + 1), session)
local prefix = padded(session)
local members = call('ZRANGEBYLEX', K.cancelled, '[' .. prefix .. ':', '(' .. prefix .. ';')
local reply = { 'OK', text(now) }
for i, member in ipairs(members) do reply[i + 2] = string.sub(member, #prefix + 2) end
return finish(reply)
