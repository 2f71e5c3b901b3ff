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
-- A slot is where one process at a time works: started by an argv that may begin with a prefix
-- (env, ssh, srun), on a device. Its life is a coroutine of the loop (serve): open the task, judge
-- jobs, and open anew when the process is gone. A job is a candidate on its way; its evaluation
-- resolves the promise of whoever asked.
local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local loop   = require "kernelband.base.loop"
local schema = require "kernelband.base.schema"

local worker = {}

local second_ns = 10 ^ 9 // 1
local quit_timeout_ns  = second_ns
local build_timeout_ns = 60 * second_ns
local usual_limits     = { open_s = 180, evaluate_s = 120 }

local MOST_BUILDERS = 7                 -- by default

-- Processes ---------------------------------------------------------------------------

local function unwatch(self, slot)
  self.loop:unwatch(slot.process)
  self.loop:drop(slot.timer)
end

-- Ends a slot's process. An idle one is asked to: it removes its scratch folders.
local function stop(self, slot, idle)
  unwatch(self, slot)
  if slot.process and idle then
    slot.process:quit(quit_timeout_ns)
  elseif slot.process then
    slot.process:close()
  end
  slot.process = nil
end

-- nil, why when it cannot be started.
local function try_spawn(slot) return core.command { argv = slot.argv, worker = true } end

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

local function set_state(slot, state)
  slot.state, slot.since_ns = state, core.system.now_ns()
end

local reasons = { unsent = "the worker died", died = "the worker died",
                  late = "the worker did not answer in time",
                  unread = "the worker's answer is no JSON" }

-- Why a slot's process gave no answer that was expected, with the last line of its log.
local function reason_of(slot, why, again)
  local tail = (slot.process:log() or ""):match "([^\n]+)\n*$"
  return ("%s%s%s"):format(reasons[why] or "the worker spoke out of turn",
                           again and ", for the second time" or "", tail and ": " .. tail or "")
end

-- A frame to a slot's process and, in its coroutine, the answer; or nil and a key of reasons. What
-- it says meanwhile (a candidate was read, a spare is warm) is passed over.
local function ask(self, slot, state, timeout_ns, message)
  set_state(slot, state)
  if not slot.process:send(json.encode(message)) then return nil, "unsent" end
  local limit_ns = slot.since_ns + timeout_ns
  while true do
    local heard = self.loop:promise()
    self.loop:watch(slot.process, function() heard:resolve "something" end)
    slot.timer = self.loop:at(limit_ns, function() heard:resolve "late" end)
    local what = heard:await()
    unwatch(self, slot)
    if what == "late" then return nil, "late" end
    local text, ended = slot.process:receive()
    if not text and ended then return nil, "died" end
    local reply = json.table(text)
    if text and not reply then return nil, "unread" end
    if reply and not (reply.took or reply.warm) then return reply end
  end
end

-- A task with a judge of its own says how long to wait for it.
local function time_limit(self, name)
  local limits = self.task.limits and self.task.limits() or usual_limits
  return math.tointeger(limits[name] * second_ns // 1)
end

-- Jobs --------------------------------------------------------------------------------

-- Those that wait for a job look again; who judges before who compiles ahead.
local function wake(self)
  for _, who in ipairs { "judges", "builders" } do
    local waiting = self.waiting[who]
    self.waiting[who] = self.loop:promise()
    waiting:resolve(true)
  end
end

local function put_back(self, job)
  table.insert(self.queue, 1, job)
  wake(self)
end

-- The first job in the queue that fits, and its place; who, of waiting, waits until there is one.
local function next_job(self, slot, who, fits)
  while true do
    local job, i = lists.find(self.queue, fits)
    if job then return job, i end
    set_state(slot, "idle")
    self.waiting[who]:await()
  end
end

-- A job that no builder has in hand. One that this slot lost goes to another, if there is one.
local function take_job(self, slot)
  local _, i = next_job(self, slot, "judges", function(job)
    return not job.building and (job.lost_by ~= slot or #self.slots == 1)
  end)
  return table.remove(self.queue, i)
end

-- The end of it all, in this slot: whoever waits is told. how.raise is raised, how.lost told.
local function fail(self, slot, how)
  set_state(slot, "lost")
  self.failure = self.failure or how
  self.opened:resolve()
  for _, other in ipairs(self.slots) do
    if other.job then other.job.promise:resolve() end
  end
  for _, job in ipairs(self.queue) do job.promise:resolve() end
end

-- Whether a worker's answer says that it can do nothing for anybody.
local function refused(self, slot, reply)
  if not (reply.refused or reply.failed) then return false end
  local text = tostring(reply.refused or "the worker failed: " .. tostring(reply.failed))
  if reply.refused then stop(self, slot, true) end
  if reply.config then text = select(2, pcall(schema.raise, "%s", text)) end
  fail(self, slot, { raise = text })
  return true
end

-- The life of a slot ------------------------------------------------------------------

-- An evaluation with its evidence, which the worker of some tasks leaves to us.
local function with_evidence(self, evaluation, machine)
  return self.task.with_evidence and self.task.with_evidence(evaluation, machine) or evaluation
end

-- Gives a slot a process that has opened the task; false: there is none to be had. A process that
-- dies of it or cannot is tried once more where it was a spare, or where an opening has worked
-- before: what another process did to the GPU passes.
local function open(self, slot)
  while true do
    local was_spare = slot.spare ~= nil
    slot.process, slot.spare, slot.served = slot.spare or spawn(slot), nil, false
    local reply, why = ask(self, slot, "opening", time_limit(self, "open_s"),
      { op = "open", task = self.task.job or self.task.dir, known = self.first,
        source = self.source })
    if reply and reply.ready then
      slot.reopened = false
      self.first, self.machine = self.first or with_evidence(self, reply.ready, reply.machine),
                                 self.machine or reply.machine
      keep_spare(slot)
      self.opened:resolve(self.first)
      return true
    end
    local again = was_spare or self.first and not slot.reopened
    if reply and not again and refused(self, slot, reply) then return false end
    local reason = reason_of(slot, why)
    stop(self, slot)
    if why == "late" or not again then
      fail(self, slot, { lost = reason })
      return false
    end
    slot.reopened = not was_spare
  end
end

-- What becomes of a job whose process died, was late or spoke nonsense. A process of this machine
-- may have been killed from outside: the candidate is tried once more, and the second death is its
-- verdict. One behind a prefix may be gone because the connection is: its end says nothing about
-- the candidate, which is tried once elsewhere and then is not evaluated.
local function recover(self, slot, job, why)
  local died, far = why ~= "late", slot.far
  local reason = reason_of(slot, why, died and job.died and not far)
  stop(self, slot)
  if far and job.lost_by then
    job.promise:resolve(nil, reason .. ", for the second time", "ELOST")
  elseif far or died and not job.died then
    job.died, job.lost_by = reason, far and slot or nil
    put_back(self, job)
  else
    job.promise:resolve { verdict = died and "crashed" or "timeout", reason = reason, shapes = {},
                          screened = false, seconds = { total = 0 } }
  end
end

-- Has a slot's process judge a job. True when the process will do for another: not for a
-- confirmation once a candidate has been in it, unless the worker itself sees to that, nor when its
-- device was lost. One that died while it had nothing to do is no candidate's fault. Nor need a
-- fault on a GPU be, as another process's breaks contexts beside it: the second is the verdict.
local function judge(self, slot, job)
  if job.options and job.options.confirm and slot.served and not self.task.renews then
    stop(self, slot, true)
    return put_back(self, job)
  end
  slot.job, slot.served = job, true
  local reply, why = ask(self, slot, "busy", time_limit(self, "evaluate_s"),
    { op = "evaluate", ticket = 0, source = job.source, options = job.options })
  if reply and refused(self, slot, reply) then return end
  slot.job = nil
  local evaluation = reply and reply.evaluation
  if type(evaluation) ~= "table" and why ~= "unsent" then return recover(self, slot, job, why) end
  if evaluation and not evaluation.lost then
    job.promise:resolve(with_evidence(self, evaluation, self.machine))
    return true
  end
  stop(self, slot)
  if evaluation and (evaluation.verdict == "timeout" or job.died) then
    return job.promise:resolve(evaluation)
  end
  job.died = job.died or evaluation and tostring(evaluation.reason)
  put_back(self, job)
end

local function serve(self, slot)
  while slot.state ~= "lost" and open(self, slot) do
    wake(self)                          -- builders, which know the machine now
    repeat until not judge(self, slot, take_job(self, slot))
  end
end

-- A GPU judges one candidate at a time, by one worker, which alone may count on it; what
-- waits for it is compiled meanwhile by builders on the other processors, into the cache from
-- which that worker takes it. Without a builder a candidate loses that head start alone; what is
-- wrong with a source its worker finds out again.
local function build_ahead(self, slot)
  while true do
    local job = next_job(self, slot, "builders", function(j)
      return self.machine and (self.machine.target or "") ~= "" and j.building == nil
    end)
    job.building = true
    slot.process = slot.process or try_spawn(slot)
    local reply = slot.process and ask(self, slot, "busy", build_timeout_ns,
      { op = "build", source = job.source, target = self.machine.target })
    if not reply then stop(self, slot) end
    job.building = false
    wake(self)
  end
end

-- Asking -----------------------------------------------------------------------------

local evaluator = {}

-- Raises what has ended it all, if anything has.
local function check(self, lost)
  local how = self.failure
  if how then error(how.raise or lost .. how.lost, 0) end
end

-- Waits in a coroutine of the loop, or turns the loop until then.
local function await(self, promise)
  while not promise.value and not self.loop:inside() do
    local _, why, code = self.loop:turn(second_ns)
    if code == "EINTR" and core.system.interrupts() > 0 then return nil, why, code end
  end
  return promise:await()
end

function evaluator.evaluate(self, candidate, options)
  check(self, "the worker is lost: ")
  local job = { source = candidate.source, options = options, promise = self.loop:promise() }
  self.queue[#self.queue + 1] = job
  wake(self)
  local evaluation, why, code = await(self, job.promise)
  if evaluation then
    evaluation.died = job.died          -- the worker that had it before
    return evaluation
  end
  if not code then check(self, "the worker is lost: ") end
  loop.remove(self.queue, job)
  return nil, why, code
end

-- The baseline's evaluation; waits until the first worker is ready.
function evaluator.baseline(self)
  local first, why, code = await(self, self.opened)
  if not first and not code then check(self, "") end
  return first, why, code
end

-- What the workers do: a list of { device =, state = "opening" | "idle" | "busy" | "lost",
-- since_ns = }, how many are busy, how many candidates wait.
function evaluator.state(self)
  local busy = lists.collect(self.slots, function(slot) return slot.state == "busy" end)
  return lists.collect(self.all, function(slot)
    return { device = slot.device, state = slot.state, since_ns = slot.since_ns }
  end), #busy, #self.queue
end

function evaluator.machine(self) return self.machine end

-- How many workers of this engine time on each processor: those of several
-- searches keep out of one another's way while there are processors.
local held = {}

-- Idle workers end by themselves, which removes their scratch folders; not when
-- the user has asked twice to stop.
function evaluator.close(self)
  for _, slot in ipairs(self.all) do
    stop(self, slot, slot.state == "idle" and core.system.interrupts() < 2)
    if slot.spare then slot.spare:close() end
    if slot.processor then held[slot.processor] = held[slot.processor] - 1 end
    slot.spare, slot.processor = nil, nil
  end
end

-- On the CPU each of several workers has its own processor, of those with fewest workers the last;
-- one alone takes what the device chooses, which is the last of all.
local function choose_device(slot, n)
  if slot.device ~= "cpu" then return end
  local cpus = core.system.cpus()
  local cpu = lists.best(cpus, function(c) return c / 2 ^ 20 - (held[c] or 0) end)
  held[cpu], slot.processor = (held[cpu] or 0) + 1, cpu
  if n > 1 or cpu ~= cpus[#cpus] then slot.device = "cpu:" .. cpu end
end

-- How many processes judge candidates, and how many compile ahead: pulls in flight
-- may be many more, as most of them wait for a model.
local function count(options, device)
  if options.places then return #options.places, 0 end
  local most = #core.system.cpus()
  if options.workers and options.workers > most then
    schema.raise("kb.search: workers = %d, but kernels are timed on processors of their own and "
                 .. "this machine has %d", options.workers, most)
  end
  local n = options.workers or math.min(options.parallel or 1, most)
  if core.language(device) ~= "cuda" then return n, 0 end
  return 1, math.min(n - 1, options.workers and most or MOST_BUILDERS)
end

-- What starts a worker of a device. A task may bring a judge of its own.
local function argv_of(task, device)
  return task.worker_argv and task.worker_argv(device)
         or { core.system.exe(), "worker", "--device", device }
end

-- options: task =, device =, parallel =, workers =, loop =; or places = a list of { prefix =
-- argv in front of the worker's, device = }, one a worker. source: one that is built before
-- anything runs; where it does not build, baseline() gives its evaluation. Returns an evaluator.
function worker.start(options)
  local device, task = options.device or "cpu", options.task
  local L = options.loop or loop.new()
  local self = { task = task, source = options.source, loop = L, queue = {}, slots = {},
                 all = {},              -- slots and builders
                 opened = L:promise(), waiting = { judges = L:promise(), builders = L:promise() } }
  local n, ahead = count(options, device)
  for i = 1, n do
    local place = options.places and options.places[i] or {}
    local prefix, slot = place.prefix or {}, { device = place.device or device }
    slot.far = #prefix > 0
    choose_device(slot, n)
    local own = argv_of(task, slot.device)
    slot.argv = lists.joined { prefix, own }
    self.slots[i], self.all[i] = slot, slot
    L:spawn(function() serve(self, slot) end)
  end
  for i = n + 1, n + ahead do
    local slot = { device = "builder", argv = argv_of({}, "builder") }
    self.all[i] = slot
    L:spawn(function() build_ahead(self, slot) end)
  end
  local out = { capacity = n + ahead, loop = L }
  for name, method in pairs(evaluator) do
    out[name] = function(...) return method(self, ...) end
  end
  return out
end

return worker
