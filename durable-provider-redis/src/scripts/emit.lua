-- Adds what an attempt of an activity emitted to streams of its instance.
-- KEYS: base, the instance, its streams.
if has_late_session() then return finish('LATE') end
local it = open_instance(arg(), BASE_KEYS + 1)
local key, session, token, attempt, last = arg(), arg(), arg(), arg(), arg()
local work = read_work(key)
local is_held = work and work.holder == session and work.token == token and is_live(session)
if not is_held or work.is_cancelled or not it.exists then return finish('LEASE_LOST') end

-- Items that were added under this token are not added again.
local added = string.match(call('HGET', K.work, 'e' .. key) or '', '^' .. token .. ':(%d+)$')
added = tonumber(added or '0')
local call_text = string.gsub(string.match(key, '^%d+:%d+'), ':', '.')
local limits = stream_limit_args()
local is_new = false
for i = 1, number_arg() do
  local name, items = arg(), {}
  for _ = 1, number_arg() do
    local number, value = arg(), arg()
    if tonumber(number) >= added then
      local source = call_text .. '.' .. attempt .. '.' .. number
      items[#items + 1] = { source = source, value = value }
    end
  end
  if #items > 0 then
    add_to_stream(it, name, KEYS[BASE_KEYS + 3 + i], items, limits)
    is_new = true
  end
end
if is_new then
  call('HSET', K.work, 'e' .. key, token .. ':' .. text(tonumber(last) + 1))
  save_instance(it)
end
return finish('ADDED')
