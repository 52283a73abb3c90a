-- Suspends an instance, or resumes it if no status is given. KEYS: base, the instance.
if has_late_session() then return finish('LATE') end
local it = open_instance(arg(), BASE_KEYS + 1)
local status = optional_arg()
if not it.exists then return finish('UNKNOWN') end
if is_ended(it) then return finish('ENDED') end
if status then
  put(it, 'sk', SUSPENDED)
  put(it, 'st', status)
  publish('d' .. it.id)
elseif it.sk == SUSPENDED then
  put(it, 'sk', it.le == '0' and '0' or '1')
  put(it, 'mr', '1')
else
  return finish('ACCEPTED')
end
touch(it)
free_instance(it)
save_instance(it)
publish('i' .. it.id)
return finish('ACCEPTED')
