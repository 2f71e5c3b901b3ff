-- worker/init.lua - both ends of a worker: the process that judges candidates, and
-- the engine's hold on it.
--
-- Frames are JSON objects. Requests: { op = "open", task =, device = },
-- { op = "evaluate", ticket =, source =, options = }, to a builder { op = "build",
-- source =, target = }. Replies: { ready = evaluation of the baseline, machine = },
-- { took = ticket } when a candidate has been read, { ticket =, evaluation = },
-- { built = }, { refused = text } for a task or device that cannot work.
local builders = require "kernelband.worker.builders"
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local loop   = require "kernelband.base.loop"
local schema = require "kernelband.base.schema"
local task   = require "kernelband.task"

local worker = {}

local second_ns = 10 ^ 9 // 1
local open_timeout_ns     = 180 * second_ns
local quit_timeout_ns     = second_ns
local evaluate_timeout_ns = 120 * second_ns

local MOST_BUILDERS = 7                 -- by default

-- The process ------------------------------------------------------------------

-- nil: the device was lost before the candidate began.
local function answer(session, request)
  if request.op == "evaluate" then
    local ok, out = pcall(session.evaluate, session, request.source, request.options)
    if not ok and session.device:lost() then return nil end
    if not ok then return { failed = tostring(out) } end
    return { ticket = request.ticket, evaluation = out }
  end
  return { refused = "unknown request" }
end

-- Serves until its stdin ends. Returns an exit code.
function worker.serve(name)
  local channel = assert(core.channel())
  local evaluate = require "kernelband.evaluate"
  local device, session, compiler
  local function open(request)
    device = device or evaluate.device(name)
    if request.op == "warm" then return { warm = true } end
    session = evaluate.open(task.load(request.task), device, request.known)
    return { ready = session.baseline, machine = session.machine }
  end
  while true do
    local text, why, code = channel:read()
    if not text then return code == "EEMPTY" and 0 or error(why) end
    local request = json.decode(text)
    local reply
    if request.op == "open" or request.op == "warm" then
      local ok, out = pcall(open, request)
      reply = ok and out or { refused = tostring(out), config = schema.is_config_error(out) }
    elseif request.op == "build" then
      compiler = compiler or assert(core.nvrtc())
      reply = builders.answer(compiler, request)
    else
      assert(channel:write(json.encode { took = request.ticket }))
      reply = answer(session, request)
      if not reply then return 1 end    -- the engine tries it once more on a fresh worker
    end
    assert(channel:write(json.encode(reply)))
  end
end

-- The engine's hold --------------------------------------------------------------
--
-- Processes are watched by a loop: this evaluator's own, or the one it is
-- attached to. A job is a candidate on its way; its result goes to the promise
-- of the coroutine that asked, or waits for next.

local evaluator = {}
evaluator.__index = evaluator

local function lost(slot, what)
  local log = slot.process and slot.process:log() or ""
  local tail = log:match "([^\n]+)\n*$"
  return what .. (tail and ": " .. tail or "")
end

local function quiet(self, slot)
  if slot.process then self.loop:unwatch(slot.process) end
  if slot.timer then self.loop:drop(slot.timer) end
  slot.timer = nil
end

local function stop(self, slot)
  quiet(self, slot)
  if slot.process then slot.process:close() end
  slot.process = nil
end

local function retire(self, slot)
  quiet(self, slot)
  if slot.process then slot.process:quit(quit_timeout_ns) end
  slot.process = nil
end

local function spawn(slot)
  local argv = slot.argv or { core.system.exe(), "worker", "--device", slot.device }
  local process, why = core.command { argv = argv, worker = true }
  if not process then error("cannot start a worker: " .. why, 0) end
  return process
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
    if slot.job and slot.job.promise then slot.job.promise:resolve() end
  end
  for _, job in ipairs(self.queue) do
    if job.promise then job.promise:resolve() end
  end
end

local function deliver(self, job, evaluation)
  evaluation.died = job.died            -- the worker that had it before
  if job.promise then
    job.promise:resolve(evaluation)
  else
    table.insert(self.results, { job.ticket, evaluation })
  end
end

local listen, late                      -- below

-- A task with a judge of its own says how long to wait for it.
local function patience(self, name, default_ns)
  local limits = self.task.limits
  return limits and math.tointeger(limits()[name] * second_ns // 1) or default_ns
end

local function expect(self, slot, state, timeout_ns)
  slot.state, slot.since_ns = state, core.system.now_ns()
  self.loop:watch(slot.process, function() listen(self, slot) end)
  slot.timer = self.loop:at(slot.since_ns + timeout_ns, function() late(self, slot) end)
end

local function rest(self, slot)
  quiet(self, slot)
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
  expect(self, slot, "opening", patience(self, "open_s", open_timeout_ns))
end

-- A process that died while it had nothing to do is no candidate's fault: the
-- job waits for the next one. So does a confirmation, for one that no candidate
-- has been in, unless the worker itself sees to that.
local function give(self, slot, job)
  if job.options and job.options.confirm and slot.served and not self.task.renews then
    retire(self, slot)
    table.insert(self.queue, 1, job)
    return start(self, slot)
  end
  slot.job, slot.served = job, true
  expect(self, slot, "busy", patience(self, "evaluate_s", evaluate_timeout_ns))
  local sent = slot.process:send(json.encode {
    op = "evaluate", ticket = job.ticket, source = job.source, options = job.options })
  if not sent then
    slot.job = nil
    stop(self, slot)
    table.insert(self.queue, 1, job)
    start(self, slot)
  end
end

-- The first job in the queue that no builder has in hand.
local function next_job(self)
  for i, job in ipairs(self.queue) do
    if not job.building then return table.remove(self.queue, i) end
  end
end

local function dispatch(self)
  for _, slot in ipairs(self.slots) do
    local job = slot.state == "idle" and next_job(self)
    if job then give(self, slot, job) end
  end
  if not self.builders then return end
  for _, job in ipairs(self.queue) do
    if job.building == nil and not self.builders:offer(job) then return end
  end
end

-- Once the first worker has said what the machine is.
local function start_builders(self)
  if self.builders or self.ahead < 1 or (self.machine.target or "") == "" then return end
  self.builders = builders.new { n = self.ahead, target = self.machine.target,
                                 loop = self.loop, done = function() dispatch(self) end }
end

-- Ends a slot whose process is gone or late; a fresh one takes its place. A process that
-- died may have been killed from outside: the candidate in hand is tried once more, and
-- the second death is its verdict. An opening that worked before is tried once more, too.
local function replace(self, slot, verdict, reason)
  local job, opening, died = slot.job, slot.state == "opening", verdict == "crashed"
  slot.job = nil
  if died and job and job.died then reason = reason .. ", for the second time" end
  reason = lost(slot, reason)
  stop(self, slot)
  if died and job and not job.died then
    job.died = reason
    table.insert(self.queue, 1, job)
    return start(self, slot)
  end
  if opening then
    if died and (slot.was_spare or self.first and not slot.reopened) then
      slot.reopened = not slot.was_spare
      return start(self, slot)
    end
    slot.state = "lost"
    return fail(self, { lost = reason })
  end
  start(self, slot)
  deliver(self, job, { verdict = verdict, reason = reason, shapes = {}, screened = false,
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
    start_builders(self)
    rest(self, slot)
    dispatch(self)
    keep_spare(slot)
    return self.opened:resolve(true)
  end
  if type(reply.evaluation) ~= "table" or slot.state ~= "busy" then
    return replace(self, slot, "crashed", "the worker spoke out of turn")
  end
  local job = slot.job
  slot.job = nil
  rest(self, slot)
  if reply.evaluation.lost then         -- its device is of no more use
    stop(self, slot)
    start(self, slot)
  end
  dispatch(self)
  deliver(self, job, reply.evaluation)
end

function listen(self, slot)
  local text, why = slot.process:receive()
  if text then return take_reply(self, slot, text) end
  if why then replace(self, slot, "crashed", "the worker died") end
end

function late(self, slot)
  slot.timer = nil
  replace(self, slot, "timeout", "the worker did not answer in time")
end

-- Asking -----------------------------------------------------------------------------

local function check(self)
  if self.failure and self.failure.raise then error(self.failure.raise, 0) end
  return self.failure and self.failure.lost
end

local function idle(self)
  for _, slot in ipairs(self.slots) do
    if slot.state ~= "idle" then return false end
  end
  return #self.queue == 0
end

-- ticket, evaluation | nil, text, "ETIME" | "EINTR" | other: the worker is lost
function evaluator:next(timeout_ns)
  local limit = core.system.now_ns() + timeout_ns
  while true do
    local result = table.remove(self.results, 1)
    if result then return result[1], result[2] end
    local reason = check(self)
    if reason then return nil, reason end
    if idle(self) then return nil, "nothing was asked", "EEMPTY" end
    local left = limit - core.system.now_ns()
    local ok, why, code = self.loop:turn(math.max(0, left))
    if #self.results == 0 and not ok and (code ~= "ETIME" or left <= 0) then
      return nil, why, code
    end
  end
end

local function submit(self, job)
  self.queue[#self.queue + 1] = job
  dispatch(self)
end

function evaluator:submit(ticket, candidate, options)
  submit(self, { ticket = ticket, source = candidate.source, options = options })
end

-- In a coroutine of the loop: waits for the evaluation and returns it; nil, text,
-- "ECANCELED" when the coroutine is cancelled. A worker that cannot be had raises.
function evaluator:evaluate(candidate, options)
  check(self)
  local job = { ticket = 0, source = candidate.source, options = options,
                promise = self.loop:promise() }
  submit(self, job)
  local evaluation, why, code = job.promise:await()
  if evaluation then return evaluation end
  if not code then error("the worker is lost: " .. check(self), 0) end
  for i, other in ipairs(self.queue) do
    if other == job then
      table.remove(self.queue, i)
      break
    end
  end
  return nil, why, code
end

-- The baseline's evaluation; waits until the first worker is ready.
function evaluator:baseline()
  while not self.first do
    local reason = check(self)
    if reason then error(reason, 0) end
    if self.loop:inside() then
      local _, why, code = self.opened:await()
      if code then return nil, why, code end
    else
      local _, why, code = self.loop:turn(second_ns)
      if code == "EINTR" and core.system.interrupts() > 0 then return nil, why, code end
    end
  end
  return self.first
end

-- What the workers do: a list of { device =, state = "opening" | "idle" | "busy" |
-- "lost", since_ns =, ticket = }, how many are busy, how many candidates wait.
function evaluator:state()
  local list, busy = {}, 0
  for i, slot in ipairs(self.slots) do
    list[i] = { device = slot.device, state = slot.state, since_ns = slot.since_ns,
                ticket = slot.job and slot.job.ticket }
    if slot.state == "busy" then busy = busy + 1 end
  end
  if self.builders then self.builders:state(list) end
  return list, busy, #self.queue
end

-- Moves the processes to another loop, whose turns then serve them too.
function evaluator:attach(L)
  local opened = L:promise()
  if self.first or self.failure then opened:resolve(true) end
  for _, slot in ipairs(self.slots) do
    if slot.timer then
      local time_ns = slot.timer.time_ns
      quiet(self, slot)
      L:watch(slot.process, function() listen(self, slot) end)
      slot.timer = L:at(time_ns, function() late(self, slot) end)
    end
  end
  self.loop, self.opened = L, opened
  if self.builders then self.builders:attach(L) end
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

local function release(slot)
  if slot.processor then held[slot.processor] = held[slot.processor] - 1 end
  slot.processor = nil
end

-- Idle workers end by themselves, which removes their scratch folders; not when
-- the user has asked twice to stop.
function evaluator:close()
  for _, slot in ipairs(self.slots) do
    if slot.state == "idle" and core.system.interrupts() < 2 then retire(self, slot) end
    stop(self, slot)
    if slot.spare then slot.spare:close() end
    slot.spare = nil
    release(slot)
  end
  if self.builders then self.builders:close() end
  self.builders = nil
end

-- On the CPU each of several workers has its own processor; one alone takes what
-- the device chooses, which is the last.
local function choose_device(slot, name, n)
  if name == "auto" then name = "cpu" end
  slot.device = name
  if name ~= "cpu" then return end
  local cpus = core.system.cpus()
  slot.processor = take_processor(cpus)
  if n > 1 or slot.processor ~= cpus[#cpus] then slot.device = "cpu:" .. slot.processor end
end

-- How many processes judge candidates, and how many compile ahead: pulls in flight
-- may be many more, as most of them wait for a model.
local function count(options, device)
  local most = core.system.cpu_count()
  if options.workers and options.workers > most then
    schema.raise("kb.search: workers = %d, but kernels are timed on processors of their own and "
                 .. "this machine has %d", options.workers, most)
  end
  local n = options.workers or math.min(options.parallel or 1, most)
  if core.language(device) ~= "cuda" then return n, 0 end
  return 1, math.min(n - 1, options.workers and most or MOST_BUILDERS)
end

-- options: task =, device =, parallel =, workers =, loop =. Returns an object of
-- functions, so that search need not know whether a worker or a trace answers it.
function worker.start(options)
  local device = options.device or "cpu"
  local L = options.loop or loop.new()
  local self = setmetatable({ task = options.task, queue = {}, slots = {}, results = {},
                              loop = L, opened = L:promise() }, evaluator)
  local n
  n, self.ahead = count(options, device)
  for i = 1, n do
    local argv = options.task.worker_argv     -- a task may bring a judge of its own
    self.slots[i] = { argv = argv and argv(device) }
    choose_device(self.slots[i], device, n)
    start(self, self.slots[i])
  end
  local out = { capacity = n + self.ahead }
  for name, method in pairs(evaluator) do
    if type(method) == "function" then
      out[name] = function(...) return method(self, ...) end
    end
  end
  function out.machine() return self.machine end
  return out
end

return worker
