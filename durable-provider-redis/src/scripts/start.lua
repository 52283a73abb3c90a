-- Starts an instance. KEYS: base, the instance.
if has_late_session() then return finish('LATE') end
local it = open_instance(arg(), BASE_KEYS + 1)
local reuse, message_id, bytes = arg(), arg(), arg()
local start = start_args()
local messages = messages_args()
if it.exists then
  local known = call('HGET', it.key, 's:' .. message_id)
  if known then return finish('AGAIN', known) end
  if reuse == 'refuse' or (reuse == 'running' and is_ended(it)) then
    return finish('TAKEN', it.ex, it.sk)
  end
  if not is_ended(it) then
    for _, message in ipairs(messages) do receive(it, message) end
    save_instance(it)
    return finish('RUNNING', it.ex)
  end
end
local execution = begin_execution(it, start, message_id, bytes)
save_instance(it)
return finish('STARTED', execution)
