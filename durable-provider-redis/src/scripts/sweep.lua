-- Ends leases of a late session, and forgets it when it has none.
-- KEYS: base, the session, three per instance (those that are held, then those of work).
local session = arg()
local late_at = call('ZSCORE', K.sessions, session)
if not late_at or tonumber(late_at) > now then return finish('OK') end
local session_key = KEYS[BASE_KEYS + 1]
local crash = call('HEXISTS', session_key, 'closed') == 0

local instance_count = number_arg()
for i = 1, instance_count do
  local it = open_instance(arg(), BASE_KEYS + 2 + 3 * (i - 1))
  if it.exists and it.sid == session then
    if crash then
      put(it, 'cr', text(tonumber(it.cr or '0') + 1))
      put(it, 'mr', '1')
    end
    free_instance(it)
    save_instance(it)
  else
    call('ZREM', K.held, of_session(session, it.id))
  end
end

local owners, owner_count = {}, number_arg()
local first_owner = BASE_KEYS + 2 + 3 * instance_count
for i = 1, owner_count do owners[arg()] = KEYS[first_owner + 3 * (i - 1)] end
for _ = 1, number_arg() do
  local key, owner = arg(), arg()
  local work = read_work(key)
  if work and work.holder == session then
    if crash then work.crashes = work.crashes + 1 end
    if free_work(work, 0) then
      call('HDEL', owners[owner], work_marker(key))
    end
  else
    call('ZREM', K.holds, of_session(session, key))
  end
end

if not first_of_session(K.held, session) and not first_of_session(K.holds, session) then
  call('ZREM', K.sessions, session)
  call('UNLINK', session_key)
end
publish('e' .. session)
return finish('OK')
