-- kernelband record TASK: a task's schedule as a recorded space for kb.trace.
local core     = require "kernelband.core"
local device   = require "kernelband.task.device"
local options  = require "kernelband.cli.options"
local schema   = require "kernelband.base.schema"
local strategy = require "kernelband.policy.strategy"
local task     = require "kernelband.task"

local usage = "kernelband record TASK [--limit N] [--minutes M] [--device cpu|cuda:N]\n"
  .. "                         [--strategies SET] [--seed N] [-o FILE]"

local function number(opt, name, least)
  if opt[name] == nil then return nil end
  local n = tonumber(opt[name])
  if not n or n < least or n ~= n then
    schema.raise("kernelband: --%s must be a number >= %d, got '%s'\nusage: %s", name, least,
                 opt[name], usage)
  end
  return math.tointeger(n) or n
end

local function whole(opt, name, least)
  local n = number(opt, name, least)
  if n and math.type(n) ~= "integer" then
    schema.raise("kernelband: --%s must be a whole number, got '%s'", name, opt[name])
  end
  return n
end

-- Progress on stderr, one line that is written over where that can be seen.
local function teller(limit)
  local last_ns, ok = 0, 0
  return function(count, row)
    if row.v == "ok" then ok = ok + 1 end
    local now = core.system.now_ns()
    if now - last_ns < 10 ^ 9 then return end
    last_ns = now
    io.stderr:write(("recorded %d%s, %s\n"):format(count, limit and "/" .. limit or "", row.v))
  end
end

local opts = {
  { "limit", "N", doc = "configurations at most" },
  { "minutes", "M", doc = "time it may take" },
  { "device", "D", one_of = { "cpu", "cuda:0" }, doc = "cpu, cpu:N or cuda:N" },
  { "strategies", "SET", file = true, doc = "whose moves are groups of axes" },
  { "seed", "N", doc = "draws which configurations, where not all are taken" },
  { "out", "FILE", short = "o", file = true, doc = "where to write" },
}

local function run(args)
  local opt, rest = options.parse(args, { usage = usage, options = opts, least = 1, most = 1 })
  local limit, minutes = whole(opt, "limit", 2), number(opt, "minutes", 0)
  local t = task.load(rest[1])
  local name, language = device.resolve(opt.device or "auto", t)
  t = task.for_language(t, language)
  if not t.schedule then
    schema.raise("kernelband record: task %s has no schedule for %s", t.name, language)
  end
  local evaluator = require("kernelband.worker").start {
    task = t, device = name,            -- on a GPU the other processors compile ahead
    workers = language == "cuda" and core.system.cpu_count() or nil }
  local file = opt.out or ("%s-%s.jsonl.gz"):format(t.name, (name:gsub("[:%d]", "")))
  local ok, count, all = pcall(function()
    evaluator.baseline()
    local machine = evaluator.machine() or {}
    return require("kernelband.trace.record").run {
      task = t, language = language, device_name = machine.name or name,
      strategies = strategy.set(opt.strategies or "strategies/" .. language),
      seed = whole(opt, "seed", 0) or 1, file = file, limit = limit, evaluator = evaluator,
      deadline_ns = minutes and core.system.now_ns() + math.floor(minutes * 60e9) or nil,
      progress = teller(limit),
    }
  end)
  evaluator.close()
  if not ok then error(count, 0) end
  print(("%s: %d configurations%s, %d KB"):format(file, count,
        all and ", the whole schedule" or "", #assert(core.system.read_file(file)) // 1024))
  return 0
end

return {
  summary = "record a task's schedule as a space that kb.trace searches",
  usage = usage, options = opts, run = run,
  help = [[
Evaluates configurations of the schedule, a growing grid around the baseline, and
writes verdict, times and features of each to FILE (TASK-DEVICE.jsonl.gz). Stops at
--limit rows, after --minutes, or when all are done; started again with the same
FILE it goes on. kb.trace(FILE) is then a task that needs no machine.]],
}
