-- Claims the oldest work of these queues, and says when time alone makes more of it ready. KEYS: base, two per queue.
if has_late_session() then return finish('LATE') end
local session, max, count = arg(), number_arg(), number_arg()
if not is_live(session) then return finish('LOST') end
open_queues(BASE_KEYS + 1, count)
local wanted = {}
for i = 1, count do wanted[i] = queues[i] end
local claimed = {}
claim_oldest(wanted, max, session, claimed)

local due
for _, queue in ipairs(wanted) do
  local next_due = tonumber(call('ZRANGE', queue.delayed, 0, 0, 'WITHSCORES')[2])
  if next_due and (not due or next_due < due) then due = next_due end
end
local sessions = call('ZRANGE', K.sessions, 0, -1, 'WITHSCORES')
for i = 1, #sessions, 2 do
  local late_at = tonumber(sessions[i + 1])
  if due and late_at >= due then break end
  if sessions[i] ~= session and first_of_session(K.holds, sessions[i]) then due = late_at end
end
return finish('OK', due and text(due) or '', claimed)
