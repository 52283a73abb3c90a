-- Says which work of a session was cancelled. It changes nothing.
if has_late_session() then return finish('LATE') end
local session = arg()
if not is_live(session) then return finish('LOST') end
local prefix = padded(session)
local members = call('ZRANGEBYLEX', K.cancelled, '[' .. prefix .. ':', '(' .. prefix .. ';')
for i, member in ipairs(members) do members[i] = string.sub(member, #prefix + 2) end
return finish('OK', members)
