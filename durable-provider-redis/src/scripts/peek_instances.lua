-- What a session may claim: candidates with the time they became ready and, if they are free,
-- as they are listed; and when time alone makes more of them ready. KEYS: base, the session.
if has_late_session() then return finish('LATE') end
local session, max = arg(), number_arg()
if not is_live(session) then return finish('LOST') end

local candidates, due = {}, nil
local function add(id, at, member)
  local last = #candidates
  candidates[last + 1], candidates[last + 2] = id, text(at)
  candidates[last + 3] = member and '+' .. member or '-'
end
local codes, fields = groups_of(K.ready), {}
for i, code in ipairs(codes) do fields[i] = 'o:' .. code end
local known = learn_code(KEYS[BASE_KEYS + 1], fields)
for i, code in ipairs(codes) do
  if code == '-' or known['*'] or known[fields[i]] then
    for _, member in ipairs(members_due(K.ready, code, max)) do
      local at, id = time_of(member, code)
      add(id, at, member)
    end
    due = earlier_due(due, K.ready, code)
  end
end
local prefix = padded(session)
local mail = call('ZRANGEBYLEX', K.mail, '[' .. prefix .. ':', '(' .. prefix .. ';', 'LIMIT', 0, max)
for _, member in ipairs(mail) do
  local at, id = time_of(member, prefix)
  add(id, at)
end
due = earlier_late(due, K.held, session)
return finish('OK', due and text(due) or '', candidates)
