-- The id of a session that is to be opened: no session ever had it.
return finish('OK', next_number())
