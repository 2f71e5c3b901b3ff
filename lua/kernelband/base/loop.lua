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
local Loop, Task, Promise = { __name = "loop" }, { __name = "task" }, { __name = "promise" }
Loop.__index, Task.__index, Promise.__index = Loop, Task, Promise

local now_ns = core.system.now_ns

-- Takes a value out of a list; nil when it is not there.
function loop.remove(list, value)
  local _, i = lists.find(list, function(other) return other == value end)
  return i and table.remove(list, i)
end

-- options: connections = transfers at once; the others wait their turn
function loop.new(options)
  return setmetatable({ ready = {}, timers = {}, age = 0, watched = {}, transfers = {},
                        connections = options and options.connections }, Loop)
end

-- Coroutines -------------------------------------------------------------------

-- Runs a task until its next wait. An error ends it; it is raised once all that
-- is told here is true.
local function run(task, ...)
  local self = task.loop
  local outer = self.running
  self.running = task
  local ok, why = coroutine.resume(task.co, ...)
  self.running = outer
  if coroutine.status(task.co) ~= "dead" then return end
  task.ended = true
  if not ok then error(schema.trace_own(why, task.co), 0) end
end

-- Whether the caller runs in a coroutine of this loop, so that it may wait.
function Loop:inside() return self.running ~= nil and coroutine.running() == self.running.co end

-- Wakes a waiting task, once: it runs in the next turn.
local function wake(task, ...)
  if not task.drop then return end
  task.drop = nil
  table.insert(task.loop.ready, table.pack(task, ...))
end

-- Every wait. start(go_on) begins what is waited for, and the wait returns what go_on is called
-- with first. start returns what ends it early, for a cancel, which returns what had come so far;
-- or nil, text, code. A task that is cancelled begins nothing.
local function wait(self, what, start)
  if not self:inside() then
    error(("loop: %s waits, and only a coroutine of loop:spawn can wait"):format(what), 2)
  end
  local task = self.running
  if task.cancelled then return nil, "cancelled", "ECANCELED" end
  local drop, why, code = start(function(...) wake(task, ...) end)
  if not drop then return nil, why, code end
  task.drop = drop
  return coroutine.yield()
end

function Loop:spawn(fn)
  local task = setmetatable({ co = coroutine.create(fn), loop = self }, Task)
  run(task)
  return task
end

function Task:done() return self.ended == true end

-- Its transfer or child is ended here; it runs on in the next turn.
function Task:cancel()
  if self.ended or self.cancelled then return end
  self.cancelled = true
  if self.drop then wake(self, nil, "cancelled", "ECANCELED", self.drop()) end
end

local function run_ready(self)
  local n = #self.ready                 -- what they make ready runs in the next turn
  for _ = 1, n do
    local woken = table.remove(self.ready, 1)
    run(table.unpack(woken, 1, woken.n))
  end
  return n > 0
end

-- Promises ---------------------------------------------------------------------

function Loop:promise() return setmetatable({ loop = self, waiting = {} }, Promise) end

-- The first one counts. Those that wait go on in the next turn.
function Promise:resolve(...)
  if self.value then return end
  self.value = table.pack(...)
  for _, go_on in ipairs(self.waiting) do go_on(...) end
end

function Promise:await()
  local L = self.loop
  if self.value and not (L.running and L.running.cancelled) then
    return table.unpack(self.value, 1, self.value.n)
  end
  return wait(L, "promise:await", function(go_on)
    table.insert(self.waiting, go_on)
    return function() loop.remove(self.waiting, go_on) end
  end)
end

-- Timers: a list, the soonest last ------------------------------------------------

function Loop:at(time_ns, fn)
  self.age = self.age + 1
  local timers, i = self.timers, #self.timers + 1
  while i > 1 and timers[i - 1].time_ns <= time_ns do i = i - 1 end
  table.insert(timers, i, { time_ns = time_ns, fn = fn, age = self.age })
  return timers[i]
end

function Loop:drop(timer) return loop.remove(self.timers, timer) end

local function run_timers(self)
  local timers, now, some, newest = self.timers, now_ns(), false, self.age
  while #timers > 0 and timers[#timers].time_ns <= now and timers[#timers].age <= newest do
    some = true
    table.remove(timers).fn()
  end
  return some
end

function Loop:sleep(ns)
  return wait(self, "loop:sleep", function(go_on)
    local timer = self:at(now_ns() + ns, function() go_on(true) end)
    return function() self:drop(timer) end
  end)
end

-- Watched processes ---------------------------------------------------------------

function Loop:unwatch(process)
  local w, i = lists.find(self.watched, function(w) return w.process == process end)
  if not w then return end
  w.gone = true
  return table.remove(self.watched, i)
end

function Loop:watch(process, on_ready)
  table.insert(self.watched, { process = process, on_ready = on_ready })
end

-- Transfers -----------------------------------------------------------------------

-- What a request returns of core's answer.
local function response(answer, request)
  -- Here, so that a search without transfers does not load it.
  local failure, code, reason = require("kernelband.base.transfer").failure(answer)
  local out = { status = answer.status, headers = answer.headers, version = answer.version,
                body = request.on_data and "" or answer.body, reason = reason,
                seconds = { first = answer.first_s, total = answer.total_s } }
  if failure then return nil, failure, code, out end
  return out
end

local function run_transfers(self)
  for id, value, status in function() return self.http_multi:next() end do
    self.transfers[id](value, status)
  end
end

-- Starts the transfer; id, or nil, text, code.
local function begin(self, request)
  local why, code
  if not self.http_multi then self.http_multi, why, code = core.http(self.connections) end
  if not self.http_multi then return nil, why, code end
  local plain = lists.with(request, { stream = request.on_data ~= nil })
  plain.on_data = nil
  return self.http_multi:start(plain)
end

function Loop:http(request)
  local fault                           -- of on_data, which ends this coroutine
  local function hear(chunk, status)
    if not request.on_data or chunk == "" then return true end
    local ok, more = xpcall(request.on_data, schema.trace_own, chunk, status)
    if not ok then fault = more end
    return ok and more ~= false
  end
  local out, why, code, received = wait(self, "loop:http", function(go_on)
    local id, refused, refusal = begin(self, request)
    if not id then return nil, refused, refusal end
    local function drop()
      self.transfers[id] = nil
      return (response(self.http_multi:cancel(id), request))
    end
    self.transfers[id] = function(value, status)
      if type(value) ~= "string" then
        self.transfers[id] = nil
        hear(value.body, value.status)
        go_on(response(value, request))
      elseif not hear(value, status) and self.transfers[id] then      -- it may have cancelled
        go_on(lists.with(drop(), { stopped = true }))
      end
    end
    return drop
  end)
  if fault then error(fault, 0) end
  return out, why, code, received
end

-- Commands --------------------------------------------------------------------------

local killed = { ETIME = "not done within %.1f s", EFULL = "more output than max_bytes" }

-- What a command returns of core's result.
local function ended(result, request)
  local code = result.code
  result.code = nil
  if not code then return result end
  local how = killed[code] and killed[code]:format((request.timeout_ns or 600 * 10 ^ 9) / 1e9)
  return nil, how and ("%s: %s, and killed with all it started"):format(request.argv[1], how)
         or code, code, result
end

function Loop:command(request)
  return wait(self, "loop:command", function(go_on)
    local command, why, code = core.command(request)
    if not command then return nil, why, code end
    local function drop()
      self:unwatch(command)
      return command:close()
    end
    self:watch(command, function() go_on(ended(drop(), request)) end)
    return drop
  end)
end

-- The wait -------------------------------------------------------------------------

function Loop:turn(timeout_ns)
  if self.running then error("loop: a coroutine cannot turn the loop it runs in", 2) end
  local watched = table.move(self.watched, 1, #self.watched, 1, {})
  if self.http_multi and #self.http_multi > 0 then
    table.insert(watched, { process = self.http_multi, on_ready = run_transfers })
  end
  local soonest = self.timers[#self.timers]
  if #self.ready > 0 then timeout_ns = 0
  elseif soonest then timeout_ns = math.min(soonest.time_ns - now_ns(), timeout_ns)
  elseif #watched == 0 then return nil, "nothing to wait for", "EEMPTY" end
  local indices, why, code = core.wait(lists.collect(watched, "process"), math.max(0, timeout_ns))
  if not indices and code ~= "ETIME" and code ~= "EINTR" then
    error("the loop cannot wait: " .. why, 0)
  end
  local some = run_ready(self)
  for _, i in ipairs(indices or {}) do
    if not watched[i].gone then watched[i].on_ready(self) end
    some = true
  end
  some = run_timers(self) or some
  some = run_ready(self) or some
  if some and code ~= "EINTR" then return true end
  return nil, why, code or "ETIME"
end

return loop
