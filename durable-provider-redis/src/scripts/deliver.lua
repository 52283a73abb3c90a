-- Puts messages from another partition's outbox into inboxes, in order, each once. Receipts go
-- back through the own outbox.
-- KEYS: base, three per instance.
if has_late_session() then return finish('LATE') end
local source = arg()
local mark = call('HGET', K.marks, source) or '0'
local targets, target_count = {}, number_arg()
for i = 1, target_count do
  local id = arg()
  targets[id] = open_instance(id, BASE_KEYS + 1 + 3 * (i - 1))
end
local reached = mark
for _ = 1, number_arg() do
  local number, it, message = arg(), targets[arg()], message_args()
  if tonumber(number) > tonumber(mark) then
    reached = number
    local receipt = receive(it, message)
    if receipt then post(source, message.receipt.sender, message.receipt.id, receipt) end
  end
end
for _, it in pairs(targets) do
  if it.exists then save_instance(it) end
end
if reached ~= mark then call('HSET', K.marks, source, reached) end
return finish('OK')
