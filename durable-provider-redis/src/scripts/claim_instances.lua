-- Claims these instances, as far as they are still free and due, or held with new messages.
-- KEYS: base, three per candidate.
if has_late_session() then return finish('LATE') end
local session, messages_max, count = arg(), number_arg(), number_arg()
if not is_live(session) then return finish('LOST') end

local function is_free_and_due(it)
  local at = not it.sid and call('ZSCORE', K.ready, it.id)
  return at and tonumber(at) <= now
end

local claimed, broken = {}, {}
for i = 1, count do
  local it = open_instance(arg(), BASE_KEYS + 1 + 3 * (i - 1))
  if not it.exists then
    call('ZREM', K.ready, it.id)
    broken[#broken + 1] = it.id
  elseif (it.sid == session and it.rm) or is_free_and_due(it) then
    if not it.sid then
      call('ZREM', K.ready, it.id)
      call('ZADD', K.held, 0, of_session(session, it.id))
      put(it, 'sid', session)
      put(it, 'tok', next_number())
      put(it, 'gv', '0')
    end
    local messages = call('XRANGE', it.inbox, '(' .. it.gv .. '-0', '+', 'COUNT', messages_max)
    if #messages > 0 then put(it, 'gv', string.match(messages[#messages][1], '^%d+')) end
    local has_more = has_messages_to_give(it)
    refresh(it)
    save_instance(it)
    local flat = {}
    for j, entry in ipairs(messages) do
      flat[2 * j - 1], flat[2 * j] = string.match(entry[1], '^%d+'), entry[2][4]
    end
    local commit_id = call('HGET', it.key, 'ci')
    claimed[#claimed + 1] = {
      it.id, it.tok, it.ex, it.le, commit_id or '', it.cr or '0', has_more and '1' or '0', flat,
    }
  end
end
return finish('OK', claimed, broken)
