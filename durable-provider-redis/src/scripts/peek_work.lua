-- The times of what is ready in these queues. KEYS: base, two per queue.
if has_late_session() then return finish('LATE') end
local max, count = number_arg(), number_arg()
open_queues(BASE_KEYS + 1, count)
local ready = {}
for i = 1, count do
  for _, entry in ipairs(ready_entries(queues[i], max)) do
    ready[#ready + 1] = text(entry.at)
    ready[#ready + 1] = text(entry.number)
  end
end
return finish('OK', ready)
