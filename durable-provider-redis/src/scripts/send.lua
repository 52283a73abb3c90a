-- Puts a message of a client into an inbox. KEYS: base, the instance, its answers if the
-- message is a request.
if has_late_session() then return finish('LATE') end
local it, message = open_instance(arg(), BASE_KEYS + 1), message_args()
if not it.exists then return finish('UNKNOWN') end
if message.is_request then
  if has_answer(KEYS[BASE_KEYS + 4], message.id) then return finish('ACCEPTED') end
  if it.sk == SUSPENDED then return finish('SUSPENDED') end
end
if is_ended(it) and not has_message(it, message.id) then return finish('ENDED') end
receive(it, message)
save_instance(it)
return finish('ACCEPTED')
