-- kernelband record TASK: a task's schedule as a recorded space for kb.trace.
local core     = require "kernelband.core"
local schema   = require "kernelband.base.schema"
local strategy = require "kernelband.policy.strategy"
local task     = require "kernelband.task"

return { "record", args = "TASK",
  options = {
    { "limit", "N", whole = true, least = 2, doc = "the most configurations to record" },
    { "minutes", "M", number = true, doc = "the most time to take" },
    "device",
    { "strategies", "SET", file = true, doc = "the set whose moves group the axes" },
    { "seed", "N", whole = true, doc = "draws the configurations, where not all are taken" },
    { "out", "FOLDER", doc = "the run to write or to go on with; else TASK-DEVICE" },
  },
  run = function(opt, rest)
    local t = task.load(rest[1])
    local name, language = task.device(opt.device or "auto", t)
    t = task.for_language(t, language)
    schema.must(t.schedule, "kernelband record: task %s has no schedule for %s", t.name, language)
    local out = opt.out or t.name .. "-" .. name:gsub("[:%d]", "")
    local on_gpu, cpus = language == "cuda", #core.system.cpus()    -- which compile ahead there
    local count, all = require("kernelband.trace.record").run {
      task = t, device = name, out = out, limit = opt.limit, minutes = opt.minutes,
      strategies = strategy.set(opt.strategies or "strategies/" .. language),
      seed = opt.seed or 1, workers = on_gpu and cpus or nil, parallel = on_gpu and 2 * cpus or 1,
    }
    print(("%s: %d configurations%s"):format(out, count, all and ", the whole schedule" or ""))
  end,
}
