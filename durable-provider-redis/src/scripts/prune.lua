-- Removes the oldest executions of an instance, if they are the ones that were read. KEYS: base,
-- the instance, the histories.
if has_late_session() then return finish('LATE') end
local it = open_instance(arg(), BASE_KEYS + 1)
local first, next_first = arg(), arg()
if not it.exists or call('HGET', it.key, 'fx') ~= first or tonumber(it.ex) < tonumber(next_first) then
  return finish('CHANGED')
end
local function is_removed(source)
  local execution = tonumber(string.match(source, '^%d+'))
  return execution < tonumber(next_first)
end
local fields = call('HKEYS', it.key)
for _, field in ipairs(fields) do
  if string.sub(field, 1, 2) == 'w:' and is_removed(string.sub(field, 3)) then
    return finish('CHANGED')
  end
end
for _, field in ipairs(fields) do
  local source = string.sub(field, 3)
  if string.sub(field, 1, 2) == 'p:' and is_removed(source) then
    local key = source .. ':' .. it.id
    call('HDEL', K.poison, 'i' .. key, 'f' .. key)
    call('HDEL', it.key, field)
  end
end
for i = BASE_KEYS + 4, #KEYS do call('UNLINK', KEYS[i]) end
call('HSET', it.key, 'fx', next_first)
return finish('PRUNED')
