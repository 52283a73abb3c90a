-- Puts a message of a client into an inbox. KEYS: base, the instance.
if has_late_session() then return finish('LATE') end
local it, message_id, bytes = open_instance(arg(), BASE_KEYS + 1), arg(), arg()
if not it.exists then return finish('UNKNOWN') end
if not has_message(it, message_id) then
  if is_ended(it) then return finish('ENDED') end
  append_message(it, message_id, bytes)
  save_instance(it)
end
return finish('ACCEPTED')
