-- What every script begins with: the keys of a partition, its clock, its counter,
-- and the steps that several scripts share. A script reads and checks everything
-- before it writes, because nothing is rolled back.
--
-- Numbers that must be exact (tokens, places, event ids) are below 2^53 and leave as
-- decimal text; payloads are never looked into.

local K = {
  meta = KEYS[1], sessions = KEYS[2], ready = KEYS[3], mail = KEYS[4], held = KEYS[5],
  work = KEYS[6], holds = KEYS[7], cancelled = KEYS[8], timers = KEYS[9], index = KEYS[10],
  tombs = KEYS[11], outbox = KEYS[12], marks = KEYS[13], poison = KEYS[14], queued = KEYS[15],
  attributes = KEYS[16],
}
local BASE_KEYS = 16
local call = redis.call
local SUSPENDED, FIRST_ENDED = '2', 3
-- No clock ever shows a later time, and it is an exact number.
local LAST_MOMENT = 9007199254740991
local LONGEST_TIMEOUT = 1125899906842624

local place = 0
local function arg()
  place = place + 1
  return ARGV[place]
end
local function number_arg() return tonumber(arg()) end
-- A value that may be absent: '+value' or '-'.
local function optional_arg()
  local value = arg()
  if string.byte(value) == 43 then return string.sub(value, 2) end
  return false
end
local function text(number) return string.format('%d', number) end
local function padded(number) return string.format('%017d', tonumber(number)) end

-- Time: the server's, or that of the clock that the store was opened with (in tests), which
-- then never goes back.
local clock = call('TIME')
local micros = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local given_ms, channel = arg(), arg()
local now, moves_clock
if given_ms == '' then
  now = math.floor(micros / 1000)
else
  local known = tonumber(call('HGET', K.meta, 'now') or '0')
  now = math.max(tonumber(given_ms), known)
  moves_clock = now > known
end

-- A number above every one that this partition ever gave. It follows the server's
-- clock, so it also rises across a partition that was lost and restored.
local last_number
local function next_number()
  if not last_number then last_number = tonumber(call('HGET', K.meta, 'n') or '0') end
  last_number = math.max(last_number + 1, micros)
  return text(last_number)
end

-- Topics that the script publishes when it is done: 'f…' for a free instance that is ready,
-- by its code, 's…' for messages of an instance that the session holds, 'c…' for work that it
-- holds and that was cancelled, 'e…' for its end, 'w…' for work in a lane, 't' for an earlier
-- timer, 'i…' for a change of an
-- instance, 'd…' for its end or suspension, 'o' for messages to another partition.
local topics, is_published = {}, {}
local function publish(topic)
  if not is_published[topic] then
    is_published[topic] = true
    topics[#topics + 1] = #topic .. ':' .. topic
  end
end

-- Ends a script: every answer begins with a status and the store's time.
local function finish(status, ...)
  if last_number and moves_clock then
    call('HSET', K.meta, 'n', text(last_number), 'now', text(now))
  elseif last_number then
    call('HSET', K.meta, 'n', text(last_number))
  elseif moves_clock then
    call('HSET', K.meta, 'now', text(now))
  end
  if #topics > 0 then call('PUBLISH', channel, table.concat(topics)) end
  return { status, text(now), ... }
end

-- Sessions. One that is late stays until everything it held is free again; until then a
-- script answers 'LATE', and its caller sweeps first.
local function has_late_session()
  local first = call('ZRANGE', K.sessions, 0, 0, 'WITHSCORES')
  return first[1] and tonumber(first[2]) <= now
end
local live = {}
local function is_live(session)
  if live[session] == nil then
    local late_at = call('ZSCORE', K.sessions, session)
    live[session] = late_at and tonumber(late_at) > now
  end
  return live[session]
end
local function of_session(session, rest) return padded(session) .. ':' .. rest end
-- The first member of a set that belongs to a session.
local function first_of_session(set, session)
  local prefix = padded(session)
  return call('ZRANGEBYLEX', set, '[' .. prefix .. ':', '(' .. prefix .. ';', 'LIMIT', 0, 1)[1]
end

-- The earlier of a time and of that at which another session is late that holds something.
local function earlier_late(due, set, own)
  local sessions = call('ZRANGE', K.sessions, 0, -1, 'WITHSCORES')
  for i = 1, #sessions, 2 do
    local at = tonumber(sessions[i + 1])
    if due and at >= due then break end
    if sessions[i] ~= own and first_of_session(set, sessions[i]) then due = at end
  end
  return due
end
-- When a session is late that gave a sign of life now.
local function late_at(timeout) return text(now + math.min(tonumber(timeout), LONGEST_TIMEOUT) + 1) end

-- Codes and lanes. The code of an instance is its orchestration with its version, or '-' if
-- it needs none; the lane of work is its activity with its queue. Both are written
-- 'length:length:name…', so that none is the beginning of another; a length of '-' is no
-- version, or the default queue.
local function pair_text(name, other)
  return #name .. ':' .. (other and #other or '-') .. ':' .. name .. (other or '')
end
-- The code or the lane that a text begins with, and its parts.
local function first_pair(from)
  local length, other_length, first = string.match(from, '^(%d+):([%d-]+):()')
  if not length then return '-' end
  local name_end = first + tonumber(length) - 1
  local other_end = name_end + (tonumber(other_length) or 0)
  local other = other_length ~= '-' and string.sub(from, name_end + 1, other_end)
  return string.sub(from, 1, other_end), string.sub(from, first, name_end), other
end
-- What a session's node has: orchestrations 'o:code' and activities 'a:name', or any ('*').
local known_code = {}
local function learn_code(session_key, fields)
  local known = known_code[session_key] or {}
  known_code[session_key] = known
  local unknown = {}
  for _, field in ipairs(fields) do
    if known[field] == nil and not known['*'] then unknown[#unknown + 1] = field end
  end
  for from = 1, #unknown, 4000 do
    local last = math.min(from + 3999, #unknown)
    local found = call('HMGET', session_key, '*', unpack(unknown, from, last))
    known['*'] = found[1] and true
    for i = from, last do known[unknown[i]] = found[i - from + 2] and true or false end
  end
  return known
end
local function has_code(session_key, field)
  local known = learn_code(session_key, { field })
  return known['*'] or known[field]
end

-- Sets of what is ready, or will be: members begin 'group:time:', where the group is a code or
-- a lane, so the members of a group are together and by time. The groups are found one after
-- the other, whatever number of members they have.
local function groups_of(set)
  local groups, from = {}, '-'
  while true do
    local member = call('ZRANGEBYLEX', set, from, '+', 'LIMIT', 0, 1)[1]
    if not member then return groups end
    local group = first_pair(member)
    groups[#groups + 1] = group
    from = '(' .. group .. ';'
  end
end
local function members_due(set, group, max)
  local from, to = '[' .. group .. ':', '(' .. group .. ':' .. padded(now + 1)
  return call('ZRANGEBYLEX', set, from, to, 'LIMIT', 0, max)
end
-- The time of a member, and what follows it.
local function time_of(member, group)
  return tonumber(string.sub(member, #group + 2, #group + 18)), string.sub(member, #group + 20)
end
-- The earlier of a time and of the first one of a group that has not come.
local function earlier_due(due, set, group)
  local from, to = '[' .. group .. ':' .. padded(now + 1), '(' .. group .. ';'
  local member = call('ZRANGEBYLEX', set, from, to, 'LIMIT', 0, 1)[1]
  local at = member and time_of(member, group)
  if not due or (at and at < due) then return at or due end
  return due
end

-- Instances.
local FIELDS = {
  'ex', 'le', 'sk', 'sid', 'tok', 'gv', 'mr', 'nb', 'cr', 'rm', 'ci', 'bl', 'ua', 'nm', 'vr', 'te',
}
local function open_instance(id, first_key)
  local it = { id = id, key = KEYS[first_key], inbox = KEYS[first_key + 1], ids = KEYS[first_key + 2] }
  it.set, it.unset = {}, {}
  local values = call('HMGET', it.key, unpack(FIELDS))
  for i, name in ipairs(FIELDS) do it[name] = values[i] end
  it.exists = it.ex and true
  return it
end
local function put(it, name, value)
  it[name] = value
  it.set[name], it.unset[name] = value, nil
end
local function drop(it, name)
  if it[name] then
    it[name] = false
    it.set[name], it.unset[name] = nil, true
  end
end
local function save_instance(it)
  local pairs_to_set, names = {}, {}
  for name, value in pairs(it.set) do
    pairs_to_set[#pairs_to_set + 1] = name
    pairs_to_set[#pairs_to_set + 1] = value
  end
  for name in pairs(it.unset) do names[#names + 1] = name end
  for from = 1, #pairs_to_set, 4000 do
    call('HSET', it.key, unpack(pairs_to_set, from, math.min(from + 3999, #pairs_to_set)))
  end
  for from = 1, #names, 4000 do
    call('HDEL', it.key, unpack(names, from, math.min(from + 3999, #names)))
  end
  it.set, it.unset = {}, {}
end
-- Notes that an instance changed, now or at a later time that an entry of its history has:
-- what a record says is never older than its history, and never goes back.
local function touch(it, recorded_at)
  local latest = text(now)
  for _, at in ipairs({ it.ua or '0', recorded_at or '0' }) do
    if tonumber(at) > tonumber(latest) then latest = at end
  end
  put(it, 'ua', latest)
end
local function is_ended(it) return tonumber(it.sk) >= FIRST_ENDED end
local function has_messages_to_give(it)
  local newest = call('XREVRANGE', it.inbox, '+', '-', 'COUNT', 1)[1]
  if not newest then return false end
  return not it.sid or tonumber(string.match(newest[1], '^%d+')) > tonumber(it.gv or '0')
end
-- An instance that was sent a `Terminate` since its start ('te') never runs its code again.
local function required_code(it)
  if it.te or is_ended(it) then return '-' end
  return pair_text(it.nm or '', it.vr)
end

-- A ready instance is listed with the time since when it is ('rm'): a free one by its code, a
-- held one by its session.
local function listing(it)
  local at = padded(it.rm) .. ':' .. it.id
  if it.sid then return K.mail, of_session(it.sid, at) end
  return K.ready, required_code(it) .. ':' .. at
end
local function list(it, at)
  put(it, 'rm', text(math.min(at, LAST_MOMENT)))
  local set, member = listing(it)
  call('ZADD', set, 0, member)
end
local function unlist(it)
  if not it.rm then return end
  local set, member = listing(it)
  call('ZREM', set, member)
  drop(it, 'rm')
end
-- Makes a change by which an instance may need other code; it keeps its time.
local function change_code(it, change)
  local at = not it.sid and it.rm
  if at then unlist(it) end
  change()
  if at then list(it, tonumber(at)) end
end

-- Lists an instance that became ready, removes one that is not, and publishes it.
local function refresh(it, has_new_message)
  local to_give = has_new_message or has_messages_to_give(it)
  local must_run = it.mr and not it.sid and not is_ended(it)
  local is_ready = it.sk ~= SUSPENDED and (to_give or must_run)
  if not is_ready then
    unlist(it)
  else
    if not it.rm then list(it, it.sid and now or math.max(now, tonumber(it.nb or '0'))) end
    publish(it.sid and 's' .. it.sid or 'f' .. required_code(it))
  end
  return to_give
end

local function end_lease(it)
  unlist(it)
  if it.sid then call('ZREM', K.held, of_session(it.sid, it.id)) end
  drop(it, 'sid')
  drop(it, 'tok')
  drop(it, 'gv')
end
-- Ends the lease of an instance: with messages it is ready.
local function free_instance(it)
  end_lease(it)
  refresh(it)
end

local function append_message(it, message_id, bytes)
  local seq = next_number()
  call('XADD', it.inbox, seq .. '-0', 'id', message_id, 'm', bytes)
  call('HSET', it.ids, message_id, seq)
  refresh(it, true)
end
local function has_message(it, message_id) return call('HEXISTS', it.ids, message_id) == 1 end
-- Puts a message into an inbox, unless one with its id is there. A hard stop is to end it; one
-- that ends a delay makes an instance that has not begun ready at once.
local function put_message(it, message_id, bytes, is_to_end, ends_delay)
  if has_message(it, message_id) then return end
  if is_to_end and not it.te then change_code(it, function() put(it, 'te', '1') end) end
  if ends_delay and it.le == '0' and not it.sid and tonumber(it.nb or '0') > now then
    unlist(it)
    drop(it, 'nb')
  end
  append_message(it, message_id, bytes)
end
-- Lets a suspended instance go on: it is ready, even without a message.
local function resume(it)
  if it.sk ~= SUSPENDED then return end
  put(it, 'sk', it.le == '0' and '0' or '1')
  put(it, 'mr', '1')
  touch(it)
  free_instance(it)
  publish('i' .. it.id)
end

-- Sets a timer, and publishes one that is due before all others.
local first_due
local function set_timer(it, timer, fire_at)
  if first_due == nil then
    first_due = tonumber(call('ZRANGE', K.timers, 0, 0, 'WITHSCORES')[2]) or false
  end
  local set = padded(next_number()) .. ':' .. fire_at
  call('ZADD', K.timers, fire_at, set .. ':' .. timer .. ':' .. it.id)
  put(it, 't:' .. timer, set)
  if not first_due or tonumber(fire_at) < first_due then
    publish('t')
    first_due = tonumber(fire_at)
  end
end

-- Attributes: all of them as JSON ('at'), and as members of the index that lack the id ('ai').
local function attribute_args(json)
  local attributes = { json = json, members = {} }
  for i = 1, number_arg() do attributes.members[i] = arg() end
  return attributes
end
local function unindex_attributes(it)
  local indexed = call('HGET', it.key, 'ai')
  for _, member in ipairs(indexed and cmsgpack.unpack(indexed) or {}) do
    call('ZREM', K.attributes, member .. it.id)
  end
end
local function set_attributes(it, attributes)
  if it.exists then unindex_attributes(it) end
  it.at, it.ai = true, true
  drop(it, 'at')
  drop(it, 'ai')
  if #attributes.members == 0 then return end
  put(it, 'at', attributes.json)
  put(it, 'ai', cmsgpack.pack(attributes.members))
  for _, member in ipairs(attributes.members) do call('ZADD', K.attributes, 0, member .. it.id) end
end

-- A start as it comes in the arguments.
local function start_args()
  local start = { name = arg(), version = optional_arg(), parent = optional_arg() }
  if start.parent then start.parent_execution, start.parent_event = arg(), arg() end
  start.attributes = attribute_args(arg())
  start.begins_at, start.deadline = optional_arg(), optional_arg()
  return start
end
-- A message as it comes in the arguments; its sort begins with 's' for a start, or with 'u' or 'w'
-- for one that takes an instance that runs (and 'w' starts an ended one anew), with 't' for a hard stop, with 'c' for another message that ends a delay and with 'a' for a receipt, and goes
-- on with 'r' if its sender wants a receipt.
local messages_args
local function message_args()
  local message = { id = arg(), bytes = arg() }
  local sort = arg()
  local first = string.sub(sort, 1, 1)
  if first == 's' or first == 'u' or first == 'w' then
    message.start, message.messages = start_args(), messages_args()
    message.takes, message.restarts = first ~= 's', first == 'w'
  end
  message.is_to_end = string.byte(sort) == 116
  message.ends_delay = message.is_to_end or string.byte(sort) == 99
  message.is_receipt = string.byte(sort) == 97
  if #sort > 1 then
    message.receipt = {
      sender = arg(), id = arg(),
      accepted = optional_arg(), unknown = optional_arg(), ended = optional_arg(),
    }
  end
  return message
end

-- What an instance that runs gets of a start.
messages_args = function()
  local messages = {}
  for i = 1, number_arg() do messages[i] = message_args() end
  return messages
end

-- Creates the instance, or starts an ended one anew, in an execution above all that
-- its id ever had.
local function begin_execution(it, start, message_id, bytes)
  local highest = it.ex or call('HGET', K.tombs, it.id) or '0'
  local execution = text(tonumber(highest) + 1)
  if not it.exists then
    put(it, 'fx', execution)
    call('ZADD', K.index, 0, it.id)
  end
  -- A session that answers the last messages of an ended instance would begin it early.
  if start.begins_at then end_lease(it) end
  change_code(it, function()
    if it.exists then
      for _, name in ipairs({ 'vr', 'te', 'bl', 'cu', 'pi', 'pe', 'pv', 'st', 'nb', 'ba' }) do
        it[name] = true
        drop(it, name)
      end
    end
    put(it, 'sk', '0')
    put(it, 'nm', start.name)
    if start.version then put(it, 'vr', start.version) end
  end)
  if start.begins_at then
    put(it, 'nb', start.begins_at)
    put(it, 'ba', start.begins_at)
  end
  set_attributes(it, start.attributes)
  it.exists = true
  put(it, 'ex', execution)
  put(it, 'le', '0')
  put(it, 'ca', text(now))
  touch(it)
  put(it, 's:' .. message_id, execution)
  if start.parent then
    put(it, 'pi', start.parent)
    put(it, 'pe', start.parent_execution)
    put(it, 'pv', start.parent_event)
  end
  append_message(it, message_id, bytes)
  if start.deadline then set_timer(it, execution .. ':1', start.deadline) end
  publish('i' .. it.id)
  return execution
end
-- Takes in a message from another instance: a start is one for an id without instance, or as its
-- policy says. Answers with the receipt, if the sender wants one.
local receive
receive = function(it, message)
  local receipt = message.receipt
  if not it.exists then
    if not message.start then return receipt and receipt.unknown end
    begin_execution(it, message.start, message.id, message.bytes)
  elseif message.restarts and is_ended(it) then
    begin_execution(it, message.start, message.id, message.bytes)
  elseif message.takes and not is_ended(it) then
    for _, part in ipairs(message.messages) do receive(it, part) end
  elseif (receipt or message.is_receipt) and is_ended(it) then
    return receipt and receipt.ended
  else
    put_message(it, message.id, message.bytes, message.is_to_end, message.ends_delay)
  end
  return receipt and receipt.accepted
end
-- Puts a message to an instance of another partition into the outbox.
local function post(partition, target, message_id, bytes, receipt, reuse)
  local fields = { 'p', partition, 't', target, 'id', message_id, 'm', bytes }
  if receipt then fields[9], fields[10] = 'r', receipt end
  if reuse then fields[#fields + 1], fields[#fields + 2] = 'u', reuse end
  call('XADD', K.outbox, next_number() .. '-0', unpack(fields))
  publish('o')
end

-- Work. Its state is 'holder token failures crashes cancelled lane'; without a holder ('-')
-- the token is its place in its lane: the time from which it is ready, and a number. Its item
-- is 'number:entry': which activity call of its execution it is, and the bytes of the history
-- entry that scheduled it.
local function read_work(key)
  local state = call('HGET', K.work, 's' .. key)
  if not state then return nil end
  local holder, token, failures, crashes, cancelled, lane =
    string.match(state, '^(%S+) (%S+) (%d+) (%d+) (%d) (.*)$')
  return {
    key = key, holder = holder ~= '-' and holder, token = token, failures = tonumber(failures),
    crashes = tonumber(crashes), is_cancelled = cancelled == '1', lane = lane,
  }
end
local function work_state(work)
  return table.concat({
    work.holder or '-', work.token, work.failures, work.crashes,
    work.is_cancelled and '1' or '0', work.lane,
  }, ' ')
end
local function write_work(work) call('HSET', K.work, 's' .. work.key, work_state(work)) end
-- The marker of a work item in its instance: its key without the instance.
local function work_marker(key) return 'w:' .. string.match(key, '^%d+:%d+') end
local function queued_member(work) return work.lane .. ':' .. work.token .. ':' .. work.key end
local function remove_work(work)
  call('HDEL', K.work, 's' .. work.key, 'i' .. work.key, 'b' .. work.key, 'f' .. work.key)
  if not work.holder then
    call('ZREM', K.queued, queued_member(work))
    return
  end
  call('ZREM', K.holds, of_session(work.holder, work.key))
  if work.is_cancelled then call('ZREM', K.cancelled, of_session(work.holder, work.key)) end
end

-- The lanes with work in them, which a script looks for once. One in which it found nothing
-- that is ready is not looked at again before it adds to it.
local lanes
local function open_lane(name)
  if lanes[name] then return end
  local _, activity, queue = first_pair(name)
  local lane = { name = name, activity = activity, queue = queue and '+' .. queue or '-' }
  lanes[#lanes + 1], lanes[name] = lane, lane
end
local function open_lanes()
  if lanes then return end
  lanes = {}
  for _, name in ipairs(groups_of(K.queued)) do open_lane(name) end
end
-- Those of these queues whose activity the session has.
local function lanes_for(session_key, is_wanted)
  open_lanes()
  local fields = {}
  for i, lane in ipairs(lanes) do fields[i] = 'a:' .. lane.activity end
  local known, wanted = learn_code(session_key, fields), {}
  for i, lane in ipairs(lanes) do
    if is_wanted[lane.queue] and (known['*'] or known[fields[i]]) then wanted[#wanted + 1] = lane end
  end
  return wanted
end
-- The queues that a caller names, after their number: '+name', or '-' for the default queue.
local function queue_args()
  local is_wanted = {}
  for _ = 1, number_arg() do is_wanted[arg()] = true end
  return is_wanted
end

-- Puts an item into its lane, from this time on.
local function queue_work(work, not_before)
  local at = math.min(math.max(now, not_before), LAST_MOMENT)
  work.holder, work.token = false, padded(at) .. ':' .. padded(next_number())
  call('ZADD', K.queued, 0, queued_member(work))
  if lanes then
    open_lane(work.lane)
    lanes[work.lane].is_empty = false
  end
  publish('w' .. work.lane)
end
-- Ends the lease of an item and queues it, unless it was cancelled meanwhile: then it goes,
-- and the answer is true.
local function free_work(work, not_before)
  if work.is_cancelled then
    remove_work(work)
    return true
  end
  call('ZREM', K.holds, of_session(work.holder, work.key))
  queue_work(work, not_before)
  write_work(work)
  return false
end
-- Leases an item to a session and appends it to the answer.
local function claim_work(work, session, claimed, item)
  work.holder, work.token = session, next_number()
  call('ZADD', K.holds, 0, of_session(session, work.key))
  local at = #claimed
  claimed[at + 1], claimed[at + 2] = work.key, work.token
  claimed[at + 3], claimed[at + 4] = tostring(work.failures + 1), tostring(work.crashes)
  local heartbeat = not item and call('HGET', K.work, 'b' .. work.key)
  claimed[at + 5] = heartbeat and '+' .. heartbeat or '-'
  claimed[at + 6] = item or call('HGET', K.work, 'i' .. work.key) or ''
end
-- What is ready in these lanes, at most so many of each, the oldest first.
local function ready_work(wanted, count)
  local found = {}
  if count <= 0 then return found end
  for _, lane in ipairs(wanted) do
    local members = lane.is_empty and {} or members_due(K.queued, lane.name, count)
    lane.is_empty = #members == 0
    for _, member in ipairs(members) do
      local at, rest = time_of(member, lane.name)
      local number, key = string.match(rest, '^(%d+):(.*)$')
      found[#found + 1] = { member = member, at = at, number = tonumber(number), key = key }
    end
  end
  if #wanted > 1 then
    table.sort(found, function(a, b)
      if a.at ~= b.at then return a.at < b.at end
      return a.number < b.number
    end)
  end
  return found
end
-- Claims the oldest that are ready in these lanes. An entry whose item is gone goes, too.
local function claim_oldest(wanted, max, session, claimed)
  local found = ready_work(wanted, max)
  local taken = math.min(max, #found)
  for i = 1, taken do
    call('ZREM', K.queued, found[i].member)
    local work = read_work(found[i].key)
    if work and not work.holder and queued_member(work) == found[i].member then
      claim_work(work, session, claimed)
      write_work(work)
    end
  end
  return taken
end

local function cancel_timer(it, timer)
  local set = call('HGET', it.key, 't:' .. timer)
  if not set then return end
  call('ZREM', K.timers, set .. ':' .. timer .. ':' .. it.id)
  call('HDEL', it.key, 't:' .. timer)
end
