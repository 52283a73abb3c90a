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
  touch(it)
  free_instance(it)
  publish('i' .. it.id)
else
  resume(it)
end
save_instance(it)
return finish('ACCEPTED')
