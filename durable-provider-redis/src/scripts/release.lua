-- Gives leases back. KEYS: base, three per lease.
if has_late_session() then return finish('LATE') end
for i = 1, number_arg() do
  local it = open_instance(arg(), BASE_KEYS + 1 + 3 * (i - 1))
  local session, token, not_before, blocked = arg(), arg(), arg(), optional_arg()
  if it.exists and it.sid == session and it.tok == token then
    put(it, 'nb', not_before)
    if blocked then
      put(it, 'bl', blocked)
      touch(it)
      publish('i' .. it.id)
    end
    free_instance(it)
    save_instance(it)
  end
end
return finish('OK')
