-- Timers that are due, by due time and then as they were set; and the first of all.
if has_late_session() then return finish('LATE') end
local max = number_arg()
local due = {}
if max > 0 then
  due = call('ZRANGE', K.timers, '-inf', text(now), 'BYSCORE', 'LIMIT', 0, max)
end
local first = tonumber(call('ZRANGE', K.timers, 0, 0, 'WITHSCORES')[2])
return finish('OK', first and text(first) or '', due)
