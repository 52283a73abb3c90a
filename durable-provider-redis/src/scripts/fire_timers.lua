-- Moves these timers into the inboxes of their instances, if they are still set.
-- KEYS: base, three per instance.
if has_late_session() then return finish('LATE') end
local owners, owner_count = {}, number_arg()
for i = 1, owner_count do
  local id = arg()
  owners[id] = open_instance(id, BASE_KEYS + 1 + 3 * (i - 1))
end
local fired = 0
for _ = 1, number_arg() do
  local member, it, message_id, message = arg(), owners[arg()], arg(), arg()
  local is_hard_stop = arg() == '1'
  local at = call('ZSCORE', K.timers, member)
  if at and tonumber(at) <= now then
    call('ZREM', K.timers, member)
    fired = fired + 1
    if it.exists then
      call('HDEL', it.key, 't:' .. string.match(member, '^%d+:%d+:(%d+:%d+)'))
      put_message(it, message_id, message, is_hard_stop, is_hard_stop)
      if is_hard_stop then resume(it) end
    end
  end
end
for _, it in pairs(owners) do
  if it.exists then save_instance(it) end
end
local first = tonumber(call('ZRANGE', K.timers, 0, 0, 'WITHSCORES')[2])
return finish('OK', text(fired), first and text(first) or '')
