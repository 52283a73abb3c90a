-- Removes an ended instance, if it is still the one that was read; its highest execution
-- id stays. KEYS: base, the instance, the histories of its executions, at last its answers.
if has_late_session() then return finish('LATE') end
local it = open_instance(arg(), BASE_KEYS + 1)
local execution, updated_at, first_left = arg(), arg(), optional_arg()
if not it.exists or not is_ended(it) or it.ex ~= execution or it.ua ~= updated_at then
  return finish('CHANGED')
end
for i = BASE_KEYS + 4, #KEYS do call('UNLINK', KEYS[i]) end
if first_left then
  call('HSET', it.key, 'fx', first_left)
  return finish('MORE')
end
for _, field in ipairs(call('HKEYS', it.key)) do
  local sort, rest = string.sub(field, 1, 2), string.sub(field, 3)
  local key = rest .. ':' .. it.id
  if sort == 't:' then cancel_timer(it, rest) end
  if sort == 'p:' then call('HDEL', K.poison, 'i' .. key, 'f' .. key) end
  local work = sort == 'w:' and read_work(key)
  if work then remove_work(work) end
end
unlist(it)
unindex_attributes(it)
if it.sid then call('ZREM', K.held, of_session(it.sid, it.id)) end
call('ZREM', K.index, it.id)
call('ZREM', K.creations, padded(call('HGET', it.key, 'ca')) .. it.id)
if it.stopped then call('ZREM', K.stopped, it.stopped) end
call('HSET', K.tombs, it.id, it.ex)
call('UNLINK', it.key, it.inbox, it.ids)
publish('i' .. it.id)
return finish('GONE')
