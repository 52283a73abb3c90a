-- Puts a message of a client into an inbox. KEYS: base, the instance.
if has_late_session() then return finish('LATE') end
local it, message = open_instance(arg(), BASE_KEYS + 1), message_args()
if not it.exists then return finish('UNKNOWN') end
if is_ended(it) and not has_message(it, message.id) then return finish('ENDED') end
receive(it, message)
save_instance(it)
return finish('ACCEPTED')
