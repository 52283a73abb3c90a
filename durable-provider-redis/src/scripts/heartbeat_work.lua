-- Keeps what an attempt wants its next one to know.
if has_late_session() then return finish('LATE') end
local key, session, token, details = arg(), arg(), arg(), arg()
local work = read_work(key)
local is_held = work and work.holder == session and work.token == token and is_live(session)
if is_held then call('HSET', K.work, 'b' .. key, details) end
return finish(is_held and 'KEPT' or 'LEASE_LOST')
