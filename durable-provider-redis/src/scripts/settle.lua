-- Takes a work item back. KEYS: base, the instance.
if has_late_session() then return finish('LATE') end
local it = open_instance(arg(), BASE_KEYS + 1)
local key, session, token, sort, not_before = arg(), arg(), arg(), arg(), number_arg()
local message_id, message, failure = arg(), arg(), arg()

local work = read_work(key)
local is_held = work and work.holder == session and work.token == token and is_live(session)
if not is_held then return finish('LEASE_LOST') end
if work.is_cancelled or sort == 'finished' or sort == 'poisoned' then
  if sort == 'poisoned' and not work.is_cancelled then
    call('HSET', K.poison, 'i' .. key, call('HGET', K.work, 'i' .. key), 'f' .. key, failure)
    call('HSET', it.key, 'p:' .. string.match(key, '^%d+:%d+'), '1')
  end
  remove_work(work)
  call('HDEL', it.key, work_marker(key))
  if not work.is_cancelled and it.exists then put_message(it, message_id, message) end
else
  if sort == 'retry' then
    work.failures = work.failures + 1
    if failure == '' then
      call('HDEL', K.work, 'f' .. key)
    else
      call('HSET', K.work, 'f' .. key, failure)
    end
  end
  free_work(work, not_before)
end
if it.exists then save_instance(it) end
return finish('SETTLED')
