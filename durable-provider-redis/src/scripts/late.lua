-- The first session that is late, and some of what it holds.
local max = number_arg()
local first = call('ZRANGE', K.sessions, 0, 0, 'WITHSCORES')
if not first[1] or tonumber(first[2]) > now then return finish('NONE') end
local prefix = padded(first[1])
local function holdings(set)
  local members = call('ZRANGEBYLEX', set, '[' .. prefix .. ':', '(' .. prefix .. ';', 'LIMIT', 0, max)
  for i, member in ipairs(members) do members[i] = string.sub(member, #prefix + 2) end
  return members
end
return finish('LATE', first[1], holdings(K.held), holdings(K.holds))
