-- The queue of a work item, '' for one that is gone. A queue never changes, so a later script
-- can declare it.
local work = read_work(arg())
return finish('OK', work and work.queue or '')
