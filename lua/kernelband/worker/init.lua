-- worker/init.lua - the engine's evaluator, which hands candidates to workers (server.lua).
--
-- An evaluator, of whatever kind, is what a search asks:
--   baseline() -> evaluation | nil, text, code
--   evaluate(candidate, how) -> evaluation | nil, text, code
--   close()
-- and may have machine() and state(). A coroutine of the loop waits in these functions; from
-- outside one they turn the loop. code is ECANCELED, EINTR, or ELOST: the worker was
-- lost twice, which says nothing about the candidate. That no worker can be had at all
-- is raised.
--
-- Processes are watched by a loop. A slot is where one process at a time works: started by
-- an argv that may begin with a prefix (env, ssh, srun), on a device. A job is a candidate
-- on its way; its evaluation resolves the promise of whoever asked.
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local loop   = require "kernelband.base.loop"
local schema = require "kernelband.base.schema"

local worker = {}

local second_ns = 10 ^ 9 // 1
local open_timeout_ns     = 180 * second_ns
local quit_timeout_ns     = second_ns
local build_timeout_ns    = 60 * second_ns
local evaluate_timeout_ns = 120 * second_ns

local MOST_BUILDERS = 7                 -- by default

local evaluator = {}
evaluator.__index = evaluator

local function with_log(slot, what)
  local log = slot.process and slot.process:log() or ""
  local tail = log:match "([^\n]+)\n*$"
  return what .. (tail and ": " .. tail or "")
end

local function unwatch(self, slot)
  if slot.process then self.loop:unwatch(slot.process) end
  if slot.timer then self.loop:drop(slot.timer) end
  slot.timer = nil
end

local function stop(self, slot)
  unwatch(self, slot)
  if slot.process then slot.process:close() end
  slot.process = nil
end

local function retire(self, slot)
  unwatch(self, slot)
  if slot.process then slot.process:quit(quit_timeout_ns) end
  slot.process = nil
end

-- nil, why when it cannot be started.
local function try_spawn(slot)
  local argv = table.move(slot.prefix, 1, #slot.prefix, 1, {})
  local own = slot.argv or { core.system.exe(), "worker", "--device", slot.device }
  return core.command { argv = table.move(own, 1, #own, #argv + 1, argv), worker = true }
end

local function spawn(slot)
  local process, why = try_spawn(slot)
  return process or error("cannot start a worker: " .. why, 0)
end

-- A GPU's context takes a third of a second to make: one is kept ready for the
-- kernel that takes a worker down.
local function keep_spare(slot)
  if core.language(slot.device) ~= "cuda" or slot.spare then return end
  slot.spare = spawn(slot)
  slot.spare:send(json.encode { op = "warm" })
end

-- The end of it all: whoever waits is told. how.raise is raised, how.lost told.
local function fail(self, how)
  self.failure = self.failure or how
  self.opened:resolve()
  for _, slot in ipairs(self.slots) do
    if slot.job then slot.job.promise:resolve() end
  end
  for _, job in ipairs(self.queue) do job.promise:resolve() end
end

local function deliver(job, evaluation)
  evaluation.died = job.died            -- the worker that had it before
  job.promise:resolve(evaluation)
end

local listen, late                      -- below

-- A task with a judge of its own says how long to wait for it.
local function time_limit(self, name, default_ns)
  local limits = self.task.limits
  return limits and math.tointeger(limits()[name] * second_ns // 1) or default_ns
end

local function expect(self, slot, state, timeout_ns)
  slot.state, slot.since_ns = state, core.system.now_ns()
  self.loop:watch(slot.process, function() listen(self, slot) end)
  slot.timer = self.loop:at(slot.since_ns + timeout_ns, function() late(self, slot) end)
end

local function set_idle(self, slot)
  unwatch(self, slot)
  slot.state, slot.since_ns = "idle", core.system.now_ns()
end

-- Gives a slot a process and sends it the task. Its answer comes later. A spare
-- may have died while it waited.
local function start(self, slot)
  local open = json.encode { op = "open", task = self.task.job or self.task.dir,
                             known = self.first }
  slot.process, slot.spare, slot.served = slot.spare, nil, false
  slot.was_spare = slot.process and slot.process:send(open)
  if not slot.was_spare then
    if slot.process then slot.process:close() end
    slot.process = spawn(slot)
    assert(slot.process:send(open))
  end
  expect(self, slot, "opening", time_limit(self, "open_s", open_timeout_ns))
end

-- Puts a candidate back to the front, for a fresh process of the slot.
local function again(self, slot, job)
  table.insert(self.queue, 1, job)
  start(self, slot)
end

-- A process that died while it had nothing to do is no candidate's fault: the
-- job waits for the next one. So does a confirmation, for one that no candidate
-- has been in, unless the worker itself sees to that.
local function assign(self, slot, job)
  if job.options and job.options.confirm and slot.served and not self.task.renews then
    retire(self, slot)
    return again(self, slot, job)
  end
  slot.job, slot.served = job, true
  expect(self, slot, "busy", time_limit(self, "evaluate_s", evaluate_timeout_ns))
  local sent = slot.process:send(json.encode {
    op = "evaluate", ticket = job.ticket, source = job.source, options = job.options })
  if not sent then
    slot.job = nil
    stop(self, slot)
    again(self, slot, job)
  end
end

-- The first job in the queue that no builder has in hand. One that this slot lost goes to
-- another, if there is one.
local function next_job(self, slot)
  for i, job in ipairs(self.queue) do
    if not job.building and (job.lost_by ~= slot or #self.slots == 1) then
      return table.remove(self.queue, i)
    end
  end
end

-- A GPU judges one candidate at a time, by one worker, which alone may count on it; what
-- waits for it is compiled meanwhile by builders on the other processors, into the cache from
-- which that worker takes it. Without a builder a candidate loses that head start alone.
-- Returns whether one took the job.
local function build_ahead(self, job)
  for _, slot in ipairs(self.builders) do
    if not slot.job then
      slot.process = slot.process or try_spawn(slot)
      if not slot.process or not slot.process:send(json.encode {
        op = "build", source = job.source, target = self.machine.target }) then
        stop(self, slot)
        return false
      end
      slot.job, job.building = job, true
      expect(self, slot, "busy", build_timeout_ns)
      return true
    end
  end
  return false
end

local function dispatch(self)
  for _, slot in ipairs(self.slots) do
    local job = slot.state == "idle" and next_job(self, slot)
    if job then assign(self, slot, job) end
  end
  if not self.machine or (self.machine.target or "") == "" then return end
  for _, job in ipairs(self.queue) do
    if job.building == nil and not build_ahead(self, job) then return end
  end
end

-- A builder has answered, or is gone. What is wrong with a source its worker finds out again.
local function built(self, slot, answered)
  slot.job.building, slot.job = false, nil
  set_idle(self, slot)
  if not answered then stop(self, slot) end
  dispatch(self)
end

-- A process behind a prefix may be gone because the connection is: its end says nothing
-- about the candidate, which is tried once elsewhere and then is not evaluated.
local function lose(self, slot, job, reason)
  if not job.lost_by then
    job.lost_by, job.died = slot, reason
    again(self, slot, job)
    return dispatch(self)
  end
  start(self, slot)
  job.promise:resolve(nil, reason .. ", for the second time", "ELOST")
end

-- A process that did not open. One that died is tried once more where it was a spare, or where
-- an opening has worked before.
local function not_opened(self, slot, died, reason)
  if died and (slot.was_spare or self.first and not slot.reopened) then
    slot.reopened = not slot.was_spare
    return start(self, slot)
  end
  slot.state = "lost"
  fail(self, { lost = reason })
end

-- Ends a slot whose process is gone or late; a fresh one takes its place. A process of this
-- machine that died may have been killed from outside: the candidate in hand is tried once
-- more, and the second death is its verdict.
local function replace(self, slot, verdict, reason)
  local job, opening, died = slot.job, slot.state == "opening", verdict == "crashed"
  slot.job = nil
  local far = #slot.prefix > 0
  if died and job and job.died and not far then reason = reason .. ", for the second time" end
  reason = with_log(slot, reason)
  stop(self, slot)
  if opening then return not_opened(self, slot, died, reason) end
  if far then return lose(self, slot, job, reason) end
  if died and not job.died then
    job.died = reason
    return again(self, slot, job)
  end
  start(self, slot)
  deliver(job, { verdict = verdict, reason = reason, shapes = {}, screened = false,
                 seconds = { total = 0 } })
end

local function refuse(self, slot, reply)
  retire(self, slot)
  slot.state = "lost"
  local text = tostring(reply.refused)
  if reply.config then
    local _, e = pcall(schema.raise, "%s", text)
    text = e
  end
  fail(self, { raise = text })
end

local function take_reply(self, slot, text)
  local ok, reply = pcall(json.decode, text)
  if not ok or type(reply) ~= "table" then
    return replace(self, slot, "crashed", "the worker's answer is no JSON")
  end
  if reply.refused then return refuse(self, slot, reply) end
  if reply.failed then
    return fail(self, { raise = "the worker failed: " .. tostring(reply.failed) })
  end
  if reply.warm then return end         -- a spare's first word, read late
  if reply.took and slot.job then return end
  if reply.ready and slot.state == "opening" then
    slot.reopened = false
    self.first = self.first or reply.ready
    self.machine = self.machine or reply.machine
    set_idle(self, slot)
    dispatch(self)
    keep_spare(slot)
    return self.opened:resolve(true)
  end
  if type(reply.evaluation) ~= "table" or slot.state ~= "busy" then
    return replace(self, slot, "crashed", "the worker spoke out of turn")
  end
  local job = slot.job
  slot.job = nil
  set_idle(self, slot)
  if reply.evaluation.lost then         -- its device is of no more use
    stop(self, slot)
    start(self, slot)
  end
  dispatch(self)
  deliver(job, reply.evaluation)
end

function listen(self, slot)
  local text, why = slot.process:receive()
  if slot.builds then return (text or why) and built(self, slot, text ~= nil) end
  if text then return take_reply(self, slot, text) end
  if why then replace(self, slot, "crashed", "the worker died") end
end

function late(self, slot)
  slot.timer = nil
  if slot.builds then return built(self, slot, false) end
  replace(self, slot, "timeout", "the worker did not answer in time")
end

-- Asking -----------------------------------------------------------------------------

local function check(self)
  if self.failure and self.failure.raise then error(self.failure.raise, 0) end
  return self.failure and self.failure.lost
end

-- Waits in a coroutine of the loop, or turns the loop until then.
local function await(self, promise)
  if self.loop:inside() then return promise:await() end
  while not promise.value do
    local _, why, code = self.loop:turn(second_ns)
    if code == "EINTR" and core.system.interrupts() > 0 then return nil, why, code end
  end
  return table.unpack(promise.value, 1, promise.value.n)
end

function evaluator:evaluate(candidate, options)
  check(self)
  local job = { ticket = 0, source = candidate.source, options = options,
                promise = self.loop:promise() }
  self.queue[#self.queue + 1] = job
  dispatch(self)
  local evaluation, why, code = await(self, job.promise)
  if evaluation then return evaluation end
  if not code then error("the worker is lost: " .. check(self), 0) end
  loop.remove(self.queue, job)
  return nil, why, code
end

-- The baseline's evaluation; waits until the first worker is ready.
function evaluator:baseline()
  while not self.first do
    local reason = check(self)
    if reason then error(reason, 0) end
    local _, why, code = await(self, self.opened)
    if code then return nil, why, code end
  end
  return self.first
end

local function all_slots(self)
  local slots = table.move(self.slots, 1, #self.slots, 1, {})
  return table.move(self.builders, 1, #self.builders, #slots + 1, slots)
end

-- What the workers do: a list of { device =, state = "opening" | "idle" | "busy" | "lost",
-- since_ns = }, how many are busy, how many candidates wait.
function evaluator:state()
  local list, busy = {}, 0
  for i, slot in ipairs(all_slots(self)) do
    list[i] = { device = slot.device, state = slot.state, since_ns = slot.since_ns }
    if slot.state == "busy" and not slot.builds then busy = busy + 1 end
  end
  return list, busy, #self.queue
end

-- How many workers of this engine time on each processor: those of several
-- searches keep out of one another's way while there are processors.
local held = {}

local function take_processor(cpus)
  local best
  for i = #cpus, 1, -1 do
    if not best or (held[cpus[i]] or 0) < (held[best] or 0) then best = cpus[i] end
  end
  held[best] = (held[best] or 0) + 1
  return best
end

-- Idle workers end by themselves, which removes their scratch folders; not when
-- the user has asked twice to stop.
function evaluator:close()
  for _, slot in ipairs(all_slots(self)) do
    if slot.state == "idle" and core.system.interrupts() < 2 then retire(self, slot) end
    stop(self, slot)
    if slot.spare then slot.spare:close() end
    if slot.processor then held[slot.processor] = held[slot.processor] - 1 end
    slot.spare, slot.processor = nil, nil
  end
end

-- On the CPU each of several workers has its own processor; one alone takes what
-- the device chooses, which is the last.
local function choose_device(slot, name, n)
  slot.device = name
  if name ~= "cpu" then return end
  local cpus = core.system.cpus()
  slot.processor = take_processor(cpus)
  if n > 1 or slot.processor ~= cpus[#cpus] then slot.device = "cpu:" .. slot.processor end
end

-- How many processes judge candidates, and how many compile ahead: pulls in flight
-- may be many more, as most of them wait for a model.
local function count(options, device)
  if options.places then return #options.places, 0 end
  local most = core.system.cpu_count()
  if options.workers and options.workers > most then
    schema.raise("kb.search: workers = %d, but kernels are timed on processors of their own and "
                 .. "this machine has %d", options.workers, most)
  end
  local n = options.workers or math.min(options.parallel or 1, most)
  if core.language(device) ~= "cuda" then return n, 0 end
  return 1, math.min(n - 1, options.workers and most or MOST_BUILDERS)
end

-- options: task =, device =, parallel =, workers =, loop =; or places = a list of { prefix =
-- argv in front of the worker's, device = }, one a worker. Returns an evaluator.
function worker.start(options)
  local device = options.device or "cpu"
  local L = options.loop or loop.new()
  local self = setmetatable({ task = options.task, queue = {}, slots = {}, builders = {}, loop = L,
                              opened = L:promise() }, evaluator)
  local n, ahead = count(options, device)
  for i = 1, ahead do
    self.builders[i] = { builds = true, prefix = {}, device = "builder", state = "idle" }
  end
  for i = 1, n do
    local place = options.places and options.places[i] or {}
    local argv = options.task.worker_argv     -- a task may bring a judge of its own
    local on = place.device or device
    self.slots[i] = { argv = argv and argv(on), prefix = place.prefix or {} }
    choose_device(self.slots[i], on, n)
    start(self, self.slots[i])
  end
  local out = { capacity = n + ahead, loop = L }
  for name, method in pairs(evaluator) do
    if type(method) == "function" then
      out[name] = function(...) return method(self, ...) end
    end
  end
  function out.machine() return self.machine end
  return out
end

return worker
