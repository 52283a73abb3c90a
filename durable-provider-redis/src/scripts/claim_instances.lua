-- Claims these instances, as far as they are still free and due as they were listed, or held
-- with new messages. KEYS: base, three per candidate.
if has_late_session() then return finish('LATE') end
local session, messages_max, count = arg(), number_arg(), number_arg()
if not is_live(session) then return finish('LOST') end

local function is_free_and_due(it, member)
  if it.sid or not it.rm or tonumber(it.rm) > now then return false end
  local _, listed = listing(it)
  return listed == member
end

local claimed, broken = {}, {}
for i = 1, count do
  local it, member = open_instance(arg(), BASE_KEYS + 1 + 3 * (i - 1)), optional_arg()
  local is_own = it.exists and it.sid == session and it.rm
  if is_own or (it.exists and is_free_and_due(it, member)) then
    if not it.sid then
      unlist(it)
      call('ZADD', K.held, 0, of_session(session, it.id))
      put(it, 'sid', session)
      put(it, 'tok', next_number())
      put(it, 'gv', '0')
    end
    local messages = call('XRANGE', it.inbox, '(' .. it.gv .. '-0', '+', 'COUNT', messages_max)
    if #messages > 0 then put(it, 'gv', string.match(messages[#messages][1], '^%d+')) end
    local has_more = refresh(it)
    save_instance(it)
    local flat = {}
    for j, entry in ipairs(messages) do
      flat[2 * j - 1], flat[2 * j] = string.match(entry[1], '^%d+'), entry[2][4]
    end
    claimed[#claimed + 1] = {
      it.id, it.tok, it.ex, it.le, it.ci or '', it.cr or '0', has_more and '1' or '0', flat,
    }
  else
    -- It is listed otherwise by now, or not at all.
    if member then call('ZREM', K.ready, member) end
    if not it.exists then broken[#broken + 1] = it.id end
  end
end
return finish('OK', claimed, broken)
