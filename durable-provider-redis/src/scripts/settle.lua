-- Takes work back. KEYS: base, three per instance, two per queue.
if has_late_session() then return { 'LATE' } end
local owners, owner_count = {}, number_arg()
for i = 1, owner_count do
  local id = arg()
  owners[id] = open_instance(id, BASE_KEYS + 1 + 3 * (i - 1))
end
local queue_count = number_arg()
open_queues(BASE_KEYS + 1 + 3 * owner_count, queue_count)

local function held(key, session, token)
  local work = read_work(key)
  return work and work.holder == session and work.token == token and is_live(session) and work
end

local reply = { 'OK' }
for _ = 1, number_arg() do
  local it, key, session, token, sort = owners[arg()], arg(), arg(), arg(), arg()
  local not_before, message_id, message, failure = number_arg(), arg(), arg(), arg()
  local work = held(key, session, token)
  local goes = work and (work.is_cancelled or sort == 'finished' or sort == 'poisoned')
  if goes then
    if sort == 'poisoned' and not work.is_cancelled then
      call('HSET', K.poison, 'i' .. key, call('HGET', K.work, 'i' .. key), 'f' .. key, failure)
      call('HSET', it.key, 'p:' .. string.match(key, '^%d+:%d+'), '1')
    end
    remove_work(work)
    call('HDEL', it.key, work_marker(key))
    if not work.is_cancelled and it.exists then put_message(it, message_id, message) end
  elseif work then
    if sort == 'retry' then work.failures = work.failures + 1 end
    free_work(work, queues[work.queue], not_before)
  end
  reply[#reply + 1] = work and '1' or '0'
end
for _, it in pairs(owners) do
  if it.exists then save_instance(it) end
end
return finish(reply)
