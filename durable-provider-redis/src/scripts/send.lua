-- Puts messages of clients into inboxes. KEYS: base, three per instance.
if has_late_session() then return { 'LATE' } end
local targets, target_count = {}, number_arg()
for i = 1, target_count do
  local id = arg()
  targets[id] = open_instance(id, BASE_KEYS + 1 + 3 * (i - 1))
end
local reply = { 'OK' }
for _ = 1, number_arg() do
  local it, message_id, bytes = targets[arg()], arg(), arg()
  local outcome = 'accepted'
  if not it.exists then
    outcome = 'unknown'
  elseif not has_message(it, message_id) then
    if is_ended(it) then
      outcome = 'ended'
    else
      append_message(it, message_id, bytes)
    end
  end
  reply[#reply + 1] = outcome
end
for _, it in pairs(targets) do
  if it.exists then save_instance(it) end
end
return finish(reply)
