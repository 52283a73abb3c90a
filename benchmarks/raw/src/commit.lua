-- The writes of one step of a chain and nothing else: who holds the instance is
-- checked, a result and the next call are appended, the work that is done goes, the
-- next is queued, the instance moves on.
-- KEYS: the instance, its history, the work. ARGV: token, last event, payload.
local held = redis.call('HMGET', KEYS[1], 'token', 'last')
if held[1] and held[1] ~= ARGV[1] then return 'FENCED' end
local last = tonumber(ARGV[2])
redis.call('XADD', KEYS[2], (last + 1) .. '-0', 'e', ARGV[3])
redis.call('XADD', KEYS[2], (last + 2) .. '-0', 'e', ARGV[3])
redis.call('HDEL', KEYS[3], last)
redis.call('HSET', KEYS[3], last + 2, ARGV[3])
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'last', last + 2)
return 'OK'
