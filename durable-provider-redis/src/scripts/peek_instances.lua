-- What a session may claim: candidates with the time they became ready, and when
-- time alone makes more of them ready.
if has_late_session() then return finish('LATE') end
local session, max = arg(), number_arg()
if not is_live(session) then return finish('LOST') end

local candidates = call('ZRANGE', K.ready, '-inf', text(now), 'BYSCORE', 'LIMIT', 0, max, 'WITHSCORES')
local prefix = padded(session)
local mail = call('ZRANGEBYLEX', K.mail, '[' .. prefix .. ':', '(' .. prefix .. ';', 'LIMIT', 0, max)
for _, member in ipairs(mail) do
  local at, id = string.match(member, '^%d+:(%d+):(.*)$')
  candidates[#candidates + 1] = id
  candidates[#candidates + 1] = text(tonumber(at))
end

local due = tonumber(call('ZRANGE', K.ready, '(' .. text(now), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2])
local sessions = call('ZRANGE', K.sessions, 0, -1, 'WITHSCORES')
for i = 1, #sessions, 2 do
  local late_at = tonumber(sessions[i + 1])
  if due and late_at >= due then break end
  if sessions[i] ~= session and first_of_session(K.held, sessions[i]) then due = late_at end
end
return finish('OK', due and text(due) or '', candidates)
