-- worker/builders.lua - processes that compile ahead. A GPU judges one candidate at a
-- time, by one worker, which alone may count on it; what waits for it is compiled
-- meanwhile on the other processors, into the cache from which that worker takes
-- it. A builder that fails costs nothing but that head start.
--
--   b = builders.new { n =, target = machine.target, loop =, done = function() end }
--   b:offer(job)      -> whether one took it; job.building is true until it is done
--   b:attach(L)  b:state()  b:close()
local core = require "kernelband.core"
local json = require "kernelband.base.json"

local builders = {}
builders.__index = builders

local second_ns = 10 ^ 9 // 1
local build_timeout_ns = 60 * second_ns
local quit_timeout_ns  = second_ns

local function quiet(self, slot)
  self.loop:unwatch(slot.process)
  if slot.timer then self.loop:drop(slot.timer) end
  slot.timer = nil
end

local function finish(self, slot)
  quiet(self, slot)
  slot.job.building, slot.job = false, nil
  self.done()
end

-- It is gone, or late: another one starts with the next job.
local function lose(self, slot)
  quiet(self, slot)
  slot.process:close()
  slot.process = nil
  slot.job.building, slot.job = false, nil
  self.done()
end

local function watch(self, slot)
  self.loop:watch(slot.process, function()
    local text, why = slot.process:receive()
    if text then return finish(self, slot) end
    if why then lose(self, slot) end
  end)
  slot.timer = self.loop:at(slot.since_ns + build_timeout_ns, function()
    slot.timer = nil
    lose(self, slot)
  end)
end

function builders.new(options)
  local self = setmetatable({ slots = {}, target = options.target, loop = options.loop,
                              done = options.done }, builders)
  for i = 1, options.n do self.slots[i] = {} end
  return self
end

function builders:offer(job)
  for _, slot in ipairs(self.slots) do
    if not slot.job then
      slot.process = slot.process or core.command {
        argv = { core.system.exe(), "worker", "--device", "builder" }, worker = true }
      local sent = slot.process and slot.process:send(json.encode {
        op = "build", source = job.source, target = self.target })
      if not sent then
        if slot.process then slot.process:close() end
        slot.process = nil
        return false
      end
      slot.job, job.building, slot.since_ns = job, true, core.system.now_ns()
      watch(self, slot)
      return true
    end
  end
  return false
end

function builders:attach(L)
  for _, slot in ipairs(self.slots) do
    if slot.job then quiet(self, slot) end
  end
  self.loop = L
  for _, slot in ipairs(self.slots) do
    if slot.job then watch(self, slot) end
  end
end

-- Those at work, as evaluator:state() lists workers.
function builders:state(list)
  for _, slot in ipairs(self.slots) do
    list[#list + 1] = { device = "builder", state = slot.job and "busy" or "idle",
                        since_ns = slot.since_ns, ticket = slot.job and slot.job.ticket }
  end
end

function builders:close()
  for _, slot in ipairs(self.slots) do
    if slot.job then
      quiet(self, slot)
      slot.process:close()
    elseif slot.process then
      slot.process:quit(quit_timeout_ns)
    end
    slot.process, slot.job = nil, nil
  end
end

-- The process: answers when a source is in the cache, or why it is not. What is
-- wrong with it the worker finds out again, at once.
function builders.answer(compiler, request)
  local ok, made, why = pcall(compiler.make, compiler, request.source, request.target)
  return { built = ok and made ~= nil, why = tostring(why or made) }
end

return builders
