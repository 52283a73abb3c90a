-- Turns, one after the other, each of them all or nothing: one that is refused leaves
-- nothing and hinders no other.
-- KEYS: base, then for each turn: the instance (record, inbox, message ids), its history,
-- the history of its next execution, its session, three per local target.

if has_late_session() then return finish('LATE') end

local function commit_turn(own)
  local id, session, token, commit_id = arg(), arg(), arg(), arg()
  local execution, tail, recorded_at = arg(), arg(), arg()
  local it = open_instance(id, own)
  local history, next_history, session_key = KEYS[own + 3], KEYS[own + 4], KEYS[own + 5]

  if not it.exists then return { 'FENCED' } end
  if it.ci == commit_id then
    local answer = cmsgpack.unpack(call('HGET', it.key, 'cx'))
    table.insert(answer, 1, 'AGAIN')
    return answer
  end
  if it.sid ~= session or it.tok ~= token or not is_live(session) then return { 'FENCED' } end
  if it.ex ~= execution or it.le ~= tail then return { 'CONFLICT', it.ex, it.le } end
  local stored = call('XLEN', history)
  if stored ~= tonumber(tail) then return { 'BROKEN', text(stored) } end
  local was_blocked = it.bl

  -- History. New work names its entry by its place among these.
  local entries = {}
  local function append(stream, after, count)
    for i = 1, count do
      local entry = arg()
      entries[#entries + 1] = entry
      call('XADD', stream, text(after + i) .. '-0', 'e', entry)
    end
    return text(after + count)
  end
  put(it, 'le', append(history, tonumber(tail), number_arg()))
  local next_execution = optional_arg()
  if next_execution then
    put(it, 'le', append(next_history, 0, number_arg()))
    put(it, 'ex', next_execution)
    publish('i' .. id)
  end

  -- Inbox.
  drop(it, 'mr')
  drop(it, 'cr')
  for _ = 1, number_arg() do
    local seq = arg()
    local entry = call('XRANGE', it.inbox, seq, seq)[1]
    if entry then
      call('XDEL', it.inbox, entry[1])
      if call('HGET', it.ids, entry[2][2]) == seq then call('HDEL', it.ids, entry[2][2]) end
    end
  end

  -- Work that goes.
  local function key_of(source) return source .. ':' .. id end
  local function forget_work(work)
    remove_work(work)
    it.unset[work_marker(work.key)] = true
  end
  local function cancel_work(work)
    if not work then return end
    if not work.holder then return forget_work(work) end
    if work.is_cancelled then return end
    work.is_cancelled = true
    write_work(work)
    call('ZADD', K.cancelled, 0, of_session(work.holder, work.key))
    publish('c' .. work.holder)
  end
  for _ = 1, number_arg() do
    local work = read_work(key_of(arg()))
    if work then forget_work(work) end
  end
  for _ = 1, number_arg() do cancel_work(read_work(key_of(arg()))) end

  -- The record.
  touch(it, recorded_at)
  local name, version = optional_arg(), optional_arg()
  if name then
    put(it, 'nm', name)
    put(it, 'vr', version)
  end
  local status_kind = optional_arg()
  if status_kind then
    put(it, 'sk', status_kind)
    put(it, 'st', arg())
    publish('i' .. id)
  end
  local custom_status = arg() -- '=' leaves it, '-' clears it, '+…' sets it
  if custom_status ~= '=' then
    it.cu = true
    if custom_status == '-' then drop(it, 'cu') else put(it, 'cu', string.sub(custom_status, 2)) end
    publish('i' .. id)
  end
  local attributes = optional_arg()
  if attributes then
    set_attributes(it, attribute_args(attributes))
    publish('i' .. id)
  end
  local not_before = optional_arg()
  if not_before then put(it, 'nb', not_before) end
  local blocked = optional_arg()
  if blocked ~= was_blocked then publish('i' .. id) end
  if blocked then put(it, 'bl', blocked) else drop(it, 'bl') end
  if it.sk == SUSPENDED or is_ended(it) then publish('d' .. id) end
  if is_ended(it) then
    for _, field in ipairs(call('HKEYS', it.key)) do
      local sort, rest = string.sub(field, 1, 2), string.sub(field, 3)
      if sort == 't:' then cancel_timer(it, rest) end
      if sort == 'w:' then cancel_work(read_work(key_of(rest))) end
    end
  end

  -- Timers; an ended instance gets none.
  for _ = 1, number_arg() do
    local timer, fire_at = arg(), arg()
    if not is_ended(it) then set_timer(it, timer, fire_at) end
  end
  for _ = 1, number_arg() do cancel_timer(it, arg()) end

  -- Messages.
  local targets = { [id] = it }
  local target_count = number_arg()
  for i = 1, target_count do
    local target = arg()
    targets[target] = targets[target] or open_instance(target, own + 6 + 3 * (i - 1))
  end
  for _ = 1, number_arg() do
    local target = targets[arg()]
    local message = message_args()
    local receipt = receive(target, message)
    if receipt and not is_ended(it) then put_message(it, message.receipt.id, receipt) end
  end
  for _ = 1, number_arg() do
    local partition, target, message_id, bytes = arg(), arg(), arg(), arg()
    post(partition, target, message_id, bytes, optional_arg(), optional_arg())
  end
  for target_id, target in pairs(targets) do
    if target_id ~= id and target.exists then save_instance(target) end
  end

  -- The lease.
  local keeps = arg() == '1' and it.sk ~= SUSPENDED
  local has_messages = '0'
  if keeps then
    if refresh(it) then has_messages = '1' end
  else
    free_instance(it)
  end

  -- Claims: the oldest that are ready, then new ones, which then never see a queue.
  local free, is_wanted, claimed = number_arg(), queue_args(), {}
  if free > 0 then
    free = free - claim_oldest(lanes_for(session_key, is_wanted), free, session, claimed)
  end
  for _ = 1, number_arg() do
    local key, number, entry = key_of(arg()), arg(), entries[number_arg()]
    local queue, activity = arg(), arg()
    if not is_ended(it) then
      local lane = pair_text(activity, string.byte(queue) == 43 and string.sub(queue, 2))
      local work = { key = key, failures = 0, crashes = 0, lane = lane }
      local item = number .. ':' .. entry
      if free > 0 and is_wanted[queue] and has_code(session_key, 'a:' .. activity) then
        claim_work(work, session, claimed, item)
        free = free - 1
      else
        queue_work(work, 0)
      end
      call('HSET', K.work, 's' .. key, work_state(work), 'i' .. key, item)
      put(it, work_marker(key), '1')
    end
  end

  local answer = { has_messages, unpack(claimed) }
  put(it, 'ci', commit_id)
  put(it, 'cx', cmsgpack.pack(answer))
  save_instance(it)
  table.insert(answer, 1, 'DONE')
  return answer
end

-- A turn that is refused may leave arguments unread: it says how many it has. One that
-- fails (a key of it was replaced by something else) fails alone.
local function attempt_turn(own)
  local has_ended, answer = pcall(commit_turn, own)
  if has_ended then return answer end
  return { 'FAILED', type(answer) == 'table' and answer.err or tostring(answer) }
end

local answers, own = {}, BASE_KEYS + 1
for _ = 1, number_arg() do
  local keys, arguments = number_arg(), number_arg()
  local next_place = place + arguments
  answers[#answers + 1] = attempt_turn(own)
  place, own = next_place, own + keys
end
return finish('OK', answers)
