-- Claims the oldest work of these queues that the session's node can run, and says when time
-- alone makes more of it ready. KEYS: base, the session.
if has_late_session() then return finish('LATE') end
local session, max = arg(), number_arg()
if not is_live(session) then return finish('LOST') end
local wanted = lanes_for(KEYS[BASE_KEYS + 1], queue_args())
local claimed = {}
claim_oldest(wanted, max, session, claimed)

local due
for _, lane in ipairs(wanted) do due = earlier_due(due, K.queued, lane.name) end
due = earlier_late(due, K.holds, session)
return finish('OK', due and text(due) or '', claimed)
