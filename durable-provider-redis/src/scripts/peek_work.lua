-- The times of what is ready for a session in these queues. KEYS: base, the session.
if has_late_session() then return finish('LATE') end
local max = number_arg()
local ready = {}
for _, entry in ipairs(ready_work(lanes_for(KEYS[BASE_KEYS + 1], queue_args()), max)) do
  ready[#ready + 1] = text(entry.at)
  ready[#ready + 1] = text(entry.number)
end
return finish('OK', ready)
