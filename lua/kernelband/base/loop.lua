-- base/loop.lua - one wait over workers, HTTP transfers, child commands and timers,
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
--     L:http(request)                       -- response | nil, text, code, received
--       request  = { url =, method = "POST", headers = { { name, value }, .. }, body =,
--                    connect_ns =, idle_ns =, total_ns =, max_bytes =, ca_file =,
--                    on_data = function(chunk, status) -> false to stop,
--                    gather_ns = how long a chunk may wait for more, 0 }
--       response = { status =, version = 10 | 11 | 20, headers = { ["retry-after"] = .. },
--                    body =, stopped =, seconds = { first =, total = } }
--       received = the same of what came before it failed, and reason = in a word:
--                  resolve connect tls proxy reset protocol size idle total memory
--       code     = EHTTP, ETIME, ECANCELED, EINVAL, ENOMEM. Any status is a response.
--     L:command(request)                    -- result | nil, text, code, said so far
--       request  = { argv = { .. }, input =, timeout_ns =, max_bytes =, directory =,
--                    environment = { "NAME=value", .. } }   nil: inherited
--       result   = { status =, signal =, output =, errors = }   any status is a result
--       code     = ETIME, EFULL, ECANCELED, or why it could not start: ENOENT, EACCES, ..
--   beside coroutines:
--     L:watch(process, on_ready)  L:unwatch(process)
--     t = L:at(time_ns, fn)  L:drop(t)      -- fn() runs once, at or after time_ns
--
-- An error in a coroutine ends it and is raised by the turn (or spawn) it ran
-- in. Order is fixed: what was made ready first runs first, what is watched is
-- looked at in the order in which it was first watched, timers go by time, then
-- age.
local core   = require "kernelband.core"
local lists  = require "kernelband.base.lists"
local schema = require "kernelband.base.schema"

local loop = {}
local Loop, Task, Promise = {}, {}, {}
Loop.__index, Task.__index, Promise.__index = Loop, Task, Promise
Loop.__name, Task.__name, Promise.__name = "loop", "task", "promise"

local now_ns = core.system.now_ns

-- Takes a value out of a list; nil when it is not there.
function loop.remove(list, value)
  local _, i = lists.find(list, function(other) return other == value end)
  return i and table.remove(list, i)
end
local remove = loop.remove

-- options: connections = transfers at once; the others wait their turn
function loop.new(options)
  options = options or {}
  return setmetatable({ ready = {}, first = 1, last = 0, timers = {}, age = 0, watched = {},
                        transfers = {}, connections = options.connections }, Loop)
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
  task.ended = true
  if not ok then error(schema.trace_own(why, task.co), 0) end
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
  if task.hears then error("loop: on_data cannot wait", 3) end
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
  return wait(L, "promise:await", function() remove(self.waiting, task) end)
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

function Loop:drop(timer) return remove(self.timers, timer) end

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

local function watch_of(self, process)
  return lists.find(self.watched, function(w) return w.process == process end)
end

function Loop:watch(process, on_ready)
  local known = watch_of(self, process)
  if known then known.on_ready = on_ready return end
  table.insert(self.watched, { process = process, on_ready = on_ready })
end

function Loop:unwatch(process)
  local w, i = watch_of(self, process)
  if w then
    w.gone = true
    return table.remove(self.watched, i)
  end
end

-- Transfers -----------------------------------------------------------------------

-- See base/transfer.lua, which a search without transfers does not load.
local function failure_of(answer)
  return require("kernelband.base.transfer").failure(answer)
end

local function response(answer, body)
  if not answer then return nil end
  local _, _, reason = failure_of(answer)
  return { status = answer.status, headers = answer.headers, body = body or answer.body,
           reason = reason, version = answer.version,
           seconds = { first = answer.first_s, total = answer.total_s } }
end

-- Calls on_data; true to go on. A transfer whose reader fails is broken off.
local function hear(self, request, chunk, status)
  local task = self.running
  task.hears = true
  local ok, go_on = xpcall(request.on_data, schema.trace_own, chunk, status)
  task.hears = nil
  return ok and go_on ~= false, not ok and go_on or nil
end

-- Starts the transfer; id, or nil, text, code.
local function begin(self, request)
  if not self.http_multi then
    local http, why, code = core.http(self.connections)
    if not http then return nil, why, code end
    self.http_multi = http
  end
  local plain = lists.with(request, { stream = request.on_data ~= nil })
  plain.on_data = nil
  return self.http_multi:start(plain)
end

function Loop:http(request)
  if cancelled(self) then return cancel_result() end
  if not self:inside() then wait(self, "loop:http") end
  local id, why, code = begin(self, request)
  if not id then return nil, why, code end
  self.transfers[id] = self.running
  local received
  local function drop()
    self.transfers[id] = nil
    received = self.http_multi:cancel(id)
  end
  while true do
    local what, value, status = wait(self, "loop:http", drop)
    if not what then return nil, value, status, response(received, request.on_data and "") end
    local chunk = what == "data" and value or request.on_data and value.body or ""
    if chunk ~= "" then
      local go_on, failure = hear(self, request, chunk, what == "data" and status or value.status)
      if not go_on and what == "data" then
        drop()
        value, what = received, "stopped"
      end
      if failure then error(failure, 0) end
    end
    if what ~= "data" then
      local out = response(value, request.on_data and "")
      local failure, failure_code = failure_of(value)
      if failure then return nil, failure, failure_code, out end
      out.stopped = what == "stopped" or nil
      return out
    end
  end
end

local function run_transfers(self)
  local http = self.http_multi
  while true do
    local id, value, status = http:next()
    if not id then return end
    local task = self.transfers[id]
    if type(value) == "string" then
      rouse(self, task, "data", value, status)
    else
      self.transfers[id] = nil
      rouse(self, task, "done", value)
    end
  end
end

-- Commands --------------------------------------------------------------------------

local killed = {
  ETIME = "%s: not done within %.1f s, and killed with all it started",
  EFULL = "%s: more output than max_bytes, and killed with all it started",
}

function Loop:command(request)
  if cancelled(self) then return cancel_result() end
  if not self:inside() then wait(self, "loop:command") end
  local command, why, code = core.command(request)
  if not command then return nil, why, code end
  local task, said = self.running, nil
  self:watch(command, function()
    self:unwatch(command)
    rouse(self, task, command:close())
  end)
  local result
  result, why, code = wait(self, "loop:command", function()
    self:unwatch(command)
    said = command:close()
  end)
  if not result then return nil, why, code, said end
  code, result.code = result.code, nil
  if not code then return result end
  local seconds = (request.timeout_ns or 600 * 10 ^ 9) / 1e9
  return nil, killed[code] and killed[code]:format(request.argv[1], seconds) or code, code, result
end

-- The wait -------------------------------------------------------------------------

-- The longest this turn may wait, or nil with the reason when nothing could
-- end it.
local function limit(self, timeout_ns)
  if self.first <= self.last then return 0 end
  local soonest = self.timers[#self.timers]
  local busy = #self.watched > 0 or self.http_multi and #self.http_multi > 0
  if not soonest and not busy then return nil end
  local left = soonest and soonest.time_ns - now_ns() or timeout_ns
  return math.max(0, math.min(left, timeout_ns))
end

function Loop:turn(timeout_ns)
  if self.running then error("loop: a coroutine cannot turn the loop it runs in", 2) end
  local left = limit(self, timeout_ns)
  if not left then return nil, "nothing to wait for", "EEMPTY" end
  local watched = table.move(self.watched, 1, #self.watched, 1, {})
  if self.http_multi and #self.http_multi > 0 then
    watched[#watched + 1] = { process = self.http_multi,
                              on_ready = function() run_transfers(self) end }
  end
  local indices, why, code = core.wait(lists.collect(watched, "process"), left)
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
