-- Reads items of a stream, and which are stored. KEYS: base, the instance, the stream.
local it = { key = KEYS[BASE_KEYS + 1] }
local name, from, max = arg(), number_arg(), number_arg()
local head = call('HGET', it.key, 'e:' .. name)
if not head then return finish('NONE') end
local index = math.max(from - tonumber(string.match(head, '^%d+')), 0)
local items = max > 0 and call('LRANGE', KEYS[BASE_KEYS + 4], index, index + max - 1) or {}
return finish('OK', head, items)
