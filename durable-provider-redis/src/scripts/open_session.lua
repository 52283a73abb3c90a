-- Opens a session in this partition, or answers with a new id if none is given.
if has_late_session() then return finish('LATE') end
local session, timeout, node = optional_arg(), number_arg(), arg()
session = session or next_number()
call('ZADD', K.sessions, text(now + timeout + 1), session)
call('HSET', K.meta, 'b:' .. session, text(timeout), 'node:' .. session, node)
return finish('OK', session)
