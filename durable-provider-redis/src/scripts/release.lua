-- Gives leases back. KEYS: base, three per lease.
if has_late_session() then return { 'LATE' } end
local not_before, count = arg(), number_arg()
for i = 1, count do
  local it = open_instance(arg(), BASE_KEYS + 1 + 3 * (i - 1))
  local session, token = arg(), arg()
  if it.exists and it.sid == session and it.tok == token then
    put(it, 'nb', not_before)
    free_instance(it)
    save_instance(it)
  end
end
return finish({ 'OK' })
