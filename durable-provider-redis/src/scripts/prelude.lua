-- What every script begins with: the keys of a partition, its clock, its counter,
-- and the steps that several scripts share. A script reads and checks everything
-- before it writes, because nothing is rolled back.
--
-- Numbers that must be exact (tokens, places, event ids) are below 2^53 and leave as
-- decimal text; payloads are never looked into.

local K = {
  meta = KEYS[1], sessions = KEYS[2], ready = KEYS[3], mail = KEYS[4], held = KEYS[5],
  work = KEYS[6], holds = KEYS[7], cancelled = KEYS[8], timers = KEYS[9], index = KEYS[10],
  tombs = KEYS[11], outbox = KEYS[12], marks = KEYS[13], poison = KEYS[14],
}
local BASE_KEYS = 14
local call = redis.call
local SUSPENDED, FIRST_ENDED = '2', 3

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

-- Topics that the script publishes when it is done: 'f' for a free instance that is ready,
-- 's…' for messages of an instance that the session holds, 'c…' for work that it holds and that
-- was cancelled, 'e…' for its end,
-- 'w' and 'w:…' for work in a queue, 't' for an earlier timer, 'i…' for a change of an
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

-- Instances.
local FIELDS = { 'ex', 'le', 'sk', 'sid', 'tok', 'gv', 'mr', 'nb', 'cr', 'rm', 'ci', 'bl', 'ua' }
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
local function mail_member(it) return of_session(it.sid, padded(it.rm) .. ':' .. it.id) end

-- Lists an instance that became ready, removes one that is not, and publishes it.
local function refresh(it)
  local to_give = has_messages_to_give(it)
  local must_run = it.mr and not it.sid and not is_ended(it)
  local is_ready = it.sk ~= SUSPENDED and (to_give or must_run)
  if it.sid then
    if is_ready then
      if not it.rm then
        put(it, 'rm', text(now))
        call('ZADD', K.mail, 0, mail_member(it))
      end
      publish('s' .. it.sid)
    elseif it.rm then
      call('ZREM', K.mail, mail_member(it))
      drop(it, 'rm')
    end
  elseif is_ready then
    call('ZADD', K.ready, 'NX', text(math.max(now, tonumber(it.nb or '0'))), it.id)
    publish('f')
  else
    call('ZREM', K.ready, it.id)
  end
  return to_give
end

-- Ends the lease of an instance: with messages it is ready.
local function free_instance(it)
  if it.sid then
    if it.rm then call('ZREM', K.mail, mail_member(it)) end
    call('ZREM', K.held, of_session(it.sid, it.id))
  else
    call('ZREM', K.ready, it.id)
  end
  drop(it, 'sid')
  drop(it, 'tok')
  drop(it, 'gv')
  drop(it, 'rm')
  refresh(it)
end

local function append_message(it, message_id, bytes)
  local seq = next_number()
  call('XADD', it.inbox, seq .. '-0', 'id', message_id, 'm', bytes)
  call('HSET', it.ids, message_id, seq)
  refresh(it)
end
local function has_message(it, message_id) return call('HEXISTS', it.ids, message_id) == 1 end
-- Puts a message into an inbox, unless one with its id is there.
local function put_message(it, message_id, bytes)
  if not has_message(it, message_id) then append_message(it, message_id, bytes) end
end

-- A start as it comes in the arguments.
local function start_args()
  local start = { name = arg(), version = optional_arg(), parent = optional_arg() }
  if start.parent then start.parent_execution, start.parent_event = arg(), arg() end
  return start
end

-- Creates the instance, or starts an ended one anew, in an execution above all that
-- its id ever had.
local function begin_execution(it, start, message_id, bytes)
  local highest = it.ex or call('HGET', K.tombs, it.id) or '0'
  local execution = text(tonumber(highest) + 1)
  if it.exists then
    for _, name in ipairs({ 'vr', 'bl', 'cu', 'pi', 'pe', 'pv', 'st' }) do
      it[name] = true
      drop(it, name)
    end
  else
    put(it, 'fx', execution)
    call('ZADD', K.index, 0, it.id)
  end
  it.exists = true
  put(it, 'ex', execution)
  put(it, 'le', '0')
  put(it, 'sk', '0')
  put(it, 'nm', start.name)
  put(it, 'ca', text(now))
  touch(it)
  put(it, 's:' .. message_id, execution)
  if start.version then put(it, 'vr', start.version) end
  if start.parent then
    put(it, 'pi', start.parent)
    put(it, 'pe', start.parent_execution)
    put(it, 'pv', start.parent_event)
  end
  append_message(it, message_id, bytes)
  publish('i' .. it.id)
  return execution
end

-- Work. Its state is 'holder token failures crashes cancelled queue'; without a holder
-- ('-') the token is its place in the queue's stream or among the delayed. Its item is
-- 'number:entry': which activity call of its execution it is, and the bytes of the history
-- entry that scheduled it.
local function read_work(key)
  local state = call('HGET', K.work, 's' .. key)
  if not state then return nil end
  local holder, token, failures, crashes, cancelled, queue =
    string.match(state, '^(%S+) (%S+) (%d+) (%d+) (%d) (.*)$')
  return {
    key = key, holder = holder ~= '-' and holder, token = token, failures = tonumber(failures),
    crashes = tonumber(crashes), is_cancelled = cancelled == '1', queue = queue,
  }
end
local function work_state(work)
  return table.concat({
    work.holder or '-', work.token, work.failures, work.crashes,
    work.is_cancelled and '1' or '0', work.queue,
  }, ' ')
end
local function write_work(work) call('HSET', K.work, 's' .. work.key, work_state(work)) end
-- The marker of a work item in its instance: its key without the instance.
local function work_marker(key) return 'w:' .. string.match(key, '^%d+:%d+') end
local function remove_work(work)
  call('HDEL', K.work, 's' .. work.key, 'i' .. work.key, 'b' .. work.key)
  if work.holder then
    call('ZREM', K.holds, of_session(work.holder, work.key))
    if work.is_cancelled then call('ZREM', K.cancelled, of_session(work.holder, work.key)) end
  end
end

-- Queues: a stream of what is ready and a sorted set of what is delayed.
local queues = {}
local function open_queues(first_key, count)
  for i = 1, count do
    local name = arg()
    local queue = queues[name]
      or { name = name, stream = KEYS[first_key + 2 * i - 2], delayed = KEYS[first_key + 2 * i - 1] }
    queues[i], queues[name] = queue, queue
  end
end
local function is_at(work, number) return work and not work.holder and work.token == number end
-- Moves what is due from the delayed into the stream, by due time.
local function promote(queue)
  local due = call('ZRANGE', queue.delayed, '-inf', text(now), 'BYSCORE', 'LIMIT', 0, 500, 'WITHSCORES')
  for i = 1, #due, 2 do
    local number, key = string.match(due[i], '^(%d+):(.*)$')
    call('ZREM', queue.delayed, due[i])
    local work = read_work(key)
    if is_at(work, text(tonumber(number))) then
      work.token = next_number()
      call('XADD', queue.stream, work.token .. '-0', 'k', key, 'r', due[i + 1])
      write_work(work)
    end
  end
end
-- Puts an item into its queue, from this time on.
local function queue_work(work, queue, not_before)
  work.holder, work.token = false, next_number()
  queue.is_empty = false
  if not_before > now then
    call('ZADD', queue.delayed, text(not_before), padded(work.token) .. ':' .. work.key)
  else
    promote(queue)
    work.token = next_number()
    call('XADD', queue.stream, work.token .. '-0', 'k', work.key, 'r', text(now))
  end
  publish(queue.name)
end
-- Ends the lease of an item and queues it, unless it was cancelled meanwhile: then it goes,
-- and the answer is true.
local function free_work(work, queue, not_before)
  if work.is_cancelled then
    remove_work(work)
    return true
  end
  call('ZREM', K.holds, of_session(work.holder, work.key))
  queue_work(work, queue, not_before)
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
-- What is ready in a queue, without what was claimed or cancelled since: number, time, key.
-- A queue in which this script found nothing is not looked at again before it adds to it.
local function ready_entries(queue, count)
  if queue.is_empty then return {} end
  promote(queue)
  local found, from = {}, '-'
  while #found < count do
    local entries = call('XRANGE', queue.stream, from, '+', 'COUNT', math.min(count, 500))
    if #entries == 0 then
      queue.is_empty = #found == 0
      break
    end
    for _, entry in ipairs(entries) do
      local number = string.match(entry[1], '^%d+')
      local work = read_work(entry[2][2])
      if is_at(work, number) then
        found[#found + 1] = { work = work, at = tonumber(entry[2][4]), number = tonumber(number), queue = queue }
      else
        call('XDEL', queue.stream, entry[1])
      end
      from = '(' .. entry[1]
    end
  end
  return found
end
-- Claims the oldest that are ready in these queues.
local function claim_oldest(wanted, max, session, claimed)
  local found = {}
  if max <= 0 then return 0 end
  for _, queue in ipairs(wanted) do
    for _, entry in ipairs(ready_entries(queue, max)) do found[#found + 1] = entry end
  end
  if #wanted > 1 then
    table.sort(found, function(a, b)
      if a.at ~= b.at then return a.at < b.at end
      return a.number < b.number
    end)
  end
  local taken = math.min(max, #found)
  for i = 1, taken do
    call('XDEL', found[i].queue.stream, text(found[i].number) .. '-0')
    claim_work(found[i].work, session, claimed)
    write_work(found[i].work)
  end
  return taken
end

-- Timers.
local function cancel_timer(it, timer)
  local set = call('HGET', it.key, 't:' .. timer)
  if not set then return end
  call('ZREM', K.timers, set .. ':' .. timer .. ':' .. it.id)
  call('HDEL', it.key, 't:' .. timer)
end
