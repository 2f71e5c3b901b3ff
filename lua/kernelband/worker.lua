-- worker.lua - both ends of a worker: the process that judges candidates, and
-- the engine's hold on it.
--
-- Frames are JSON objects. Requests: { op = "open", task =, device = },
-- { op = "evaluate", ticket =, source =, options = }. Replies: { ready =
-- evaluation of the baseline, machine = }, { ticket =, evaluation = },
-- { refused = text } for a task or device that cannot work.
local core   = require "kernelband.core"
local json   = require "kernelband.json"
local schema = require "kernelband.schema"
local task   = require "kernelband.task"

local worker = {}

local second_ns = 10 ^ 9 // 1
local open_timeout_ns     = 180 * second_ns
local quit_timeout_ns     = second_ns
local evaluate_timeout_ns = 120 * second_ns

-- The process ------------------------------------------------------------------

local function answer(session, request)
  if request.op == "evaluate" then
    local ok, out = pcall(session.evaluate, session, request.source, request.options)
    if not ok then return { failed = tostring(out) } end
    return { ticket = request.ticket, evaluation = out }
  end
  return { refused = "unknown request" }
end

-- Serves until its stdin ends. Returns an exit code.
function worker.serve(name)
  local channel = assert(core.channel())
  local evaluate = require "kernelband.evaluate"
  local device, session
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
    else
      reply = answer(session, request)
    end
    assert(channel:write(json.encode(reply)))
  end
end

-- The engine's hold --------------------------------------------------------------

local evaluator = {}
evaluator.__index = evaluator

local function lost(slot, what)
  local log = slot.process and slot.process:log() or ""
  local tail = log:match "([^\n]+)\n*$"
  return what .. (tail and ": " .. tail or "")
end

local function stop(slot)
  if slot.process then slot.process:close() end
  slot.process = nil
end

local function retire(slot)
  if slot.process then slot.process:quit(quit_timeout_ns) end
  slot.process = nil
end

local function spawn(slot)
  local process, why = core.worker { core.system.exe(), "worker", "--device", slot.device }
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

-- Gives a slot a process and sends it the task. Its answer comes later.
local function start(self, slot)
  slot.process, slot.spare, slot.served = slot.spare or spawn(slot), nil, false
  slot.state, slot.deadline_ns = "opening", core.system.now_ns() + open_timeout_ns
  assert(slot.process:send(json.encode { op = "open", task = self.task.dir,
                                         known = self.first }))
end

-- A process that died while it had nothing to do is no candidate's fault: the
-- job waits for the next one. So does a confirmation, for one that no candidate
-- has been in.
local function give(self, slot, job)
  if job.options and job.options.confirm and slot.served then
    retire(slot)
    table.insert(self.queue, 1, job)
    return start(self, slot)
  end
  slot.job, slot.state, slot.served = job, "busy", true
  slot.deadline_ns = core.system.now_ns() + evaluate_timeout_ns
  local sent = slot.process:send(json.encode {
    op = "evaluate", ticket = job.ticket, source = job.source, options = job.options })
  if not sent then
    slot.job = nil
    stop(slot)
    table.insert(self.queue, 1, job)
    start(self, slot)
  end
end

local function dispatch(self)
  for _, slot in ipairs(self.slots) do
    if slot.state == "idle" and #self.queue > 0 then
      give(self, slot, table.remove(self.queue, 1))
    end
  end
end

-- Ends a slot whose process is gone or late; a fresh one takes its place. The
-- candidate in hand is judged by that.
local function replace(self, slot, verdict, reason)
  local job = slot.job
  slot.job = nil
  reason = lost(slot, reason)
  stop(slot)
  if slot.state == "opening" then return nil, reason end
  start(self, slot)
  return job.ticket, { verdict = verdict, reason = reason, shapes = {}, screened = false,
                       seconds = { total = 0 } }
end

local function take_reply(self, slot, text)
  local ok, reply = pcall(json.decode, text)
  if not ok or type(reply) ~= "table" then
    return replace(self, slot, "crashed", "the worker's answer is no JSON")
  end
  if reply.refused then
    retire(slot)
    if reply.config then schema.raise("%s", reply.refused) end
    error(reply.refused, 0)
  elseif reply.failed then
    error("the worker failed: " .. reply.failed, 0)
  elseif reply.ready then
    self.first = self.first or reply.ready
    self.machine = self.machine or reply.machine
    slot.state = "idle"
    dispatch(self)
    keep_spare(slot)
    return nil, "ready", "EAGAIN"
  elseif reply.warm then                -- a spare's first word, read late
    return nil, "warm", "EAGAIN"
  end
  local job = slot.job
  slot.job, slot.state = nil, "idle"
  if reply.evaluation.lost then         -- its device is of no more use
    stop(slot)
    start(self, slot)
  end
  dispatch(self)
  return job.ticket, reply.evaluation
end

-- One wait over all processes: a reply, a death, a passed deadline.
local function step(self, timeout_ns)
  local processes, slots = {}, {}
  local now = core.system.now_ns()
  local limit = now + timeout_ns
  for _, slot in ipairs(self.slots) do
    if slot.state ~= "idle" then
      processes[#processes + 1], slots[#slots + 1] = slot.process, slot
      limit = math.min(limit, slot.deadline_ns)
    end
  end
  if #slots == 0 then return nil, "nothing was asked", "EEMPTY" end
  local i, text, code, dead = core.wait(processes, math.max(0, limit - now))
  if i then return take_reply(self, slots[i], text) end
  if code == "EWORKER" then
    return replace(self, slots[dead], "crashed", "the worker died")
  end
  for _, slot in ipairs(slots) do
    if core.system.now_ns() >= slot.deadline_ns then
      return replace(self, slot, "timeout", "the worker did not answer in time")
    end
  end
  return nil, text, code
end

-- ticket, evaluation | nil, text, "ETIME" | "EINTR" | other: the worker is lost
function evaluator:next(timeout_ns)
  local limit = core.system.now_ns() + timeout_ns
  while true do
    local ticket, out, code = step(self, math.max(0, limit - core.system.now_ns()))
    if ticket or code ~= "EAGAIN" then return ticket, out, code end
  end
end

function evaluator:submit(ticket, candidate, options)
  self.queue[#self.queue + 1] = { ticket = ticket, source = candidate.source, options = options }
  dispatch(self)
end

-- The baseline's evaluation; waits until the first worker is ready.
function evaluator:baseline()
  while not self.first do
    local _, why, code = step(self, second_ns)
    if code == "EINTR" and core.system.interrupts() > 0 then return nil, "interrupted", "EINTR" end
    if not code then error(why, 0) end
  end
  return self.first
end

-- Idle workers end by themselves, which removes their scratch folders; not when
-- the user has asked twice to stop.
function evaluator:close()
  for _, slot in ipairs(self.slots) do
    if slot.state == "idle" and core.system.interrupts() < 2 then retire(slot) end
    stop(slot)
    if slot.spare then slot.spare:close() end
    slot.spare = nil
  end
end

-- The device for the i-th of n workers: on the CPU each has its own processor.
local function device_of(name, i, n)
  if name == "auto" then name = "cpu" end
  if name ~= "cpu" or n == 1 then return name end
  return "cpu:" .. core.system.cpu_count() - i
end

-- options: task =, device =, parallel =. Returns an object of functions, so
-- that search need not know whether a worker or a trace answers it.
function worker.start(options)
  local self = setmetatable({ task = options.task, queue = {}, slots = {} }, evaluator)
  local n = options.parallel or 1
  if n > core.system.cpu_count() then
    schema.raise("kb.search: parallel = %d, but kernels are timed on processors of their own and "
                 .. "this machine has %d", n, core.system.cpu_count())
  end
  for i = 1, n do
    self.slots[i] = { device = device_of(options.device or "cpu", i, n) }
    start(self, self.slots[i])
  end
  local out = { capacity = n }
  for name, method in pairs(evaluator) do
    if type(method) == "function" then
      out[name] = function(...) return method(self, ...) end
    end
  end
  function out.machine() return self.machine end
  return out
end

return worker
