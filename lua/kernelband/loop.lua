-- loop.lua - one wait over workers, HTTP transfers, child commands and timers,
-- and coroutines that read as if each were alone.
--
--   local L = loop.new()
--   local h = L:spawn(function() ... end)   -- runs at once, until its first wait
--   h:cancel()  h:done()                    -- every wait of a cancelled one, this
--                                           -- and later ones, returns
--                                           -- nil, "cancelled", "ECANCELED"
--   L:turn(timeout_ns)                      -- one wait, then what became ready runs:
--                                           -- true | nil, text, code, where code is
--                                           -- ETIME, EINTR, EEMPTY: nothing to wait for
--   inside a coroutine:
--     L:sleep(ns)                           -- true | nil, text, code
--     p = L:promise(); p:resolve(value); value = p:await()
--   beside coroutines:
--     L:watch(process, on_ready)  L:unwatch(process)
--     t = L:at(time_ns, fn)  L:drop(t)      -- fn() runs once, at or after time_ns
--
-- An error in a coroutine ends it and is raised by the turn (or spawn) it ran
-- in. Order is fixed: what was made ready first runs first, what is watched is
-- looked at in the order in which it was first watched, timers go by time, then
-- age.
local core = require "kernelband.core"

local loop = {}
local Loop, Task, Promise = {}, {}, {}
Loop.__index, Task.__index, Promise.__index = Loop, Task, Promise
Loop.__name, Task.__name, Promise.__name = "loop", "task", "promise"

local now_ns = core.system.now_ns

function loop.new(options)
  options = options or {}
  return setmetatable({ ready = {}, first = 1, last = 0, timers = {}, age = 0, watched = {},
                        tasks = 0, options = options }, Loop)
end

-- Coroutines -------------------------------------------------------------------

-- Runs a task until its next wait. An error ends it; it is raised once all that
-- is told here is true.
local function run(self, task, ...)
  local outer = self.running
  self.running, task.waits = task, false
  local ok, why = coroutine.resume(task.co, ...)
  self.running = outer
  if coroutine.status(task.co) ~= "dead" then return end
  task.ended, self.tasks = true, self.tasks - 1
  if not ok then
    if type(why) == "string" then why = debug.traceback(task.co, why) end
    error(why, 0)
  end
end

local function wake(self, task, ...)
  self.last = self.last + 1
  self.ready[self.last] = { task, table.pack(...) }
end

-- Waits until the task is woken, and returns what it is woken with. drop ends
-- what would wake it when it is cancelled.
local function wait(self, what, drop)
  local task = self.running
  if not task or coroutine.running() ~= task.co then
    error(("loop: %s waits, and only a coroutine of loop:spawn can wait"):format(what), 3)
  end
  task.waits, task.drop = true, drop
  return coroutine.yield()
end

-- Whether the running coroutine has been cancelled; then nothing is begun.
local function cancelled(self)
  return self.running ~= nil and self.running.cancelled
end

local function cancel_result()
  return nil, "cancelled", "ECANCELED"
end

-- Whether the caller runs in a coroutine of this loop, so that it may wait.
function Loop:inside()
  return self.running ~= nil and coroutine.running() == self.running.co
end

function Loop:spawn(fn)
  local task = setmetatable({ co = coroutine.create(fn), loop = self }, Task)
  self.tasks = self.tasks + 1
  run(self, task)
  return task
end

function Task:done() return self.ended == true end

-- Its transfer or child is ended here; it runs on in the next turn.
function Task:cancel()
  if self.ended or self.cancelled then return end
  self.cancelled = true
  if not self.waits or self.woken then return end
  local drop = self.drop
  self.drop, self.woken = nil, true
  if drop then drop() end
  wake(self.loop, self, cancel_result())
end

-- Wakes a waiting task, once.
local function rouse(self, task, ...)
  if task.ended or task.woken or not task.waits then return end
  task.woken, task.drop = true, nil
  wake(self, task, ...)
end

local function run_ready(self)
  local last = self.last                -- what they make ready runs in the next turn
  if self.first > last then return false end
  while self.first <= last do
    local task, with = table.unpack(self.ready[self.first])
    self.ready[self.first], self.first = nil, self.first + 1
    task.woken = nil
    run(self, task, table.unpack(with, 1, with.n))
  end
  return true
end

-- Promises ---------------------------------------------------------------------

function Loop:promise()
  return setmetatable({ loop = self, waiting = {} }, Promise)
end

-- The first one counts. Those that wait go on in the next turn.
function Promise:resolve(...)
  if self.value then return end
  self.value = table.pack(...)
  for _, task in ipairs(self.waiting) do rouse(self.loop, task, ...) end
  self.waiting = {}
end

function Promise:await()
  local L = self.loop
  if cancelled(L) then return cancel_result() end
  if self.value then return table.unpack(self.value, 1, self.value.n) end
  local task = L.running
  self.waiting[#self.waiting + 1] = task
  return wait(L, "promise:await", function()
    for i, other in ipairs(self.waiting) do
      if other == task then return table.remove(self.waiting, i) end
    end
  end)
end

-- Timers: a list, the soonest last ------------------------------------------------

function Loop:at(time_ns, fn)
  self.age = self.age + 1
  local timer, timers = { time_ns = time_ns, fn = fn, age = self.age }, self.timers
  local low, high = 1, #timers + 1
  while low < high do
    local middle = (low + high) // 2
    if timers[middle].time_ns > time_ns then low = middle + 1 else high = middle end
  end
  table.insert(timers, low, timer)
  return timer
end

function Loop:drop(timer)
  for i, other in ipairs(self.timers) do
    if other == timer then return table.remove(self.timers, i) end
  end
end

local function run_timers(self)
  local timers, now, some, newest = self.timers, now_ns(), false, self.age
  while #timers > 0 and timers[#timers].time_ns <= now and timers[#timers].age <= newest do
    some = true
    table.remove(timers).fn()
  end
  return some
end

function Loop:sleep(ns)
  if cancelled(self) then return cancel_result() end
  local task = self.running
  local timer = self:at(now_ns() + ns, function() rouse(self, task, true) end)
  return wait(self, "loop:sleep", function() self:drop(timer) end)
end

-- Watched processes ---------------------------------------------------------------

function Loop:watch(process, on_ready)
  for _, w in ipairs(self.watched) do
    if w.process == process then
      w.on_ready = on_ready
      return
    end
  end
  table.insert(self.watched, { process = process, on_ready = on_ready })
end

function Loop:unwatch(process)
  for i, w in ipairs(self.watched) do
    if w.process == process then
      w.gone = true
      return table.remove(self.watched, i)
    end
  end
end

-- The wait -------------------------------------------------------------------------

-- The longest this turn may wait, or nil with the reason when nothing could
-- end it.
local function limit(self, timeout_ns)
  if self.first <= self.last then return 0 end
  local soonest = self.timers[#self.timers]
  if not soonest and #self.watched == 0 then return nil end
  local left = soonest and soonest.time_ns - now_ns() or timeout_ns
  return math.max(0, math.min(left, timeout_ns))
end

function Loop:turn(timeout_ns)
  if self.running then error("loop: a coroutine cannot turn the loop it runs in", 2) end
  local left = limit(self, timeout_ns)
  if not left then return nil, "nothing to wait for", "EEMPTY" end
  local watched, sources = table.move(self.watched, 1, #self.watched, 1, {}), {}
  for i, w in ipairs(watched) do sources[i] = w.process end
  local indices, why, code = core.wait(sources, left)
  if not indices and code ~= "ETIME" and code ~= "EINTR" then
    error("the loop cannot wait: " .. why, 0)
  end
  local some = run_ready(self)
  for _, i in ipairs(indices or {}) do
    if not watched[i].gone then watched[i].on_ready() end
    some = true
  end
  some = run_timers(self) or some
  some = run_ready(self) or some
  if some and code ~= "EINTR" then return true end
  return nil, why, code or "ETIME"
end

return loop
