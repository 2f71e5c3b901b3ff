-- kernelband record TASK: a task's schedule as a recorded space for kb.trace.
local core     = require "kernelband.core"
local device   = require "kernelband.task.device"
local options  = require "kernelband.cli.options"
local schema   = require "kernelband.base.schema"
local strategy = require "kernelband.policy.strategy"
local task     = require "kernelband.task"

-- What is under way, on stderr, a line a second at most.
local function teller(limit)
  local last_ns = 0
  return function(count, row)
    local now = core.system.now_ns()
    if now - last_ns < 10 ^ 9 then return end
    last_ns = now
    io.stderr:write(("recorded %d%s, %s\n"):format(count, limit and "/" .. limit or "", row.v))
  end
end

local function record(opt, t, name, language, file)
  local evaluator = require("kernelband.worker").start {
    task = t, device = name,            -- on a GPU the other processors compile ahead
    workers = language == "cuda" and core.system.cpu_count() or nil }
  local ok, count, all = pcall(function()
    evaluator.baseline()
    local machine = evaluator.machine() or {}
    return require("kernelband.trace.record").run {
      task = t, language = language, device_name = machine.name or name,
      strategies = strategy.set(opt.strategies or "strategies/" .. language),
      seed = opt.seed or 1, file = file, limit = opt.limit, evaluator = evaluator,
      deadline_ns = opt.minutes and core.system.now_ns() + math.floor(opt.minutes * 60e9) or nil,
      progress = teller(opt.limit),
    }
  end)
  evaluator.close()
  if not ok then error(count, 0) end
  return count, all
end

return options.verb { "record",
  summary = "record a task's schedule as a space that kb.trace searches",
  args = "TASK",
  options = {
    { "limit", "N", whole = true, least = 2, doc = "the most configurations to record" },
    { "minutes", "M", number = true, doc = "the most time to take" },
    options.device,
    { "strategies", "SET", file = true, doc = "the set whose moves group the axes" },
    { "seed", "N", whole = true, doc = "draws the configurations, where not all are taken" },
    options.out "where to write; else TASK-DEVICE.jsonl.gz",
  },
  help = [[
Evaluates configurations of the task's schedule, a growing grid around the baseline, and
writes verdict, times and features of each to FILE. Stops after --limit rows, after
--minutes, or when all are done. Started again with the same FILE it goes on.
kb.trace(FILE) is then a task that needs no machine.]],
  run = function(opt, rest)
    local t = task.load(rest[1])
    local name, language = device.resolve(opt.device or "auto", t)
    t = task.for_language(t, language)
    if not t.schedule then
      schema.raise("kernelband record: task %s has no schedule for %s", t.name, language)
    end
    local file = opt.out or ("%s-%s.jsonl.gz"):format(t.name, (name:gsub("[:%d]", "")))
    local count, all = record(opt, t, name, language, file)
    print(("%s: %d configurations%s, %d KB"):format(file, count,
          all and ", the whole schedule" or "", #assert(core.system.read_file(file)) // 1024))
    return 0
  end,
}
