-- The queues of these work items, '' for one that is gone. Queues never change, so a
-- later script can declare them.
local reply = { 'OK' }
for _ = 1, number_arg() do
  local work = read_work(arg())
  reply[#reply + 1] = work and work.queue or ''
end
return reply
