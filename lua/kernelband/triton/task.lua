-- triton/task.lua - a Python file with Triton kernels as a task: judged by worker/
-- in the user's interpreter, searched like any other.
--
--   t = triton.new { name =, module =, kind = "tritonbench" | "kernelbench", file =,
--                    source =, tests =, perf =, summary =, python = }
--
-- The worker is told all it needs in the frame that opens it: it may run elsewhere.
local core     = require "kernelband.core"
local path     = require "kernelband.base.path"
local python   = require "kernelband.triton.python"
local schema   = require "kernelband.base.schema"
local tunables = require "kernelband.triton.tunables"

local triton = {}

-- Of worker/: its own deadlines, and what it may take beyond them: two minutes of waiting for
-- other sessions on the GPU, one for what is compiled ahead, the end of a child whose kernel hangs,
-- the start of the next; before it opens, two minutes of waiting for a GPU with memory left.
local OPEN_S, EVALUATE_S, BEYOND_S, PAIRS_S, MEMORY_S = 240, 100, 220, 120, 140

local function interpreter(t)
  local name, wanted = python.name(t.python)
  return schema.must(name, "task %s: there is no %s to judge Triton kernels with: install Python 3 "
    .. "with torch and triton, or set KERNELBAND_PYTHON to one that has them", t.name, wanted)
end

-- Evaluator, generator and strategies, as kb.search asks an environment for them.
local function environment(t, options)
  local device = options.device
  if not device or device == "auto" then device = "triton:0" end
  schema.must(device:find "^triton:%d+$",
    "task %s: device '%s' runs no Triton kernels; expected 'triton:0'", t.name, device)
  return {
    source = t.source, ext = "py", generator = require("kernelband.generator.schedule").new {},
    strategies = require("kernelband.policy.strategy").set "strategies/triton",
    evaluator = function(loop)
      return require("kernelband.worker").start { task = t, device = device, loop = loop,
        parallel = options.parallel, workers = options.workers or 1 }
    end }
end

-- The schedule is found when it is asked for: that starts a Python.
local function lazily(t, key)
  if key ~= "schedule" then return nil end
  local schedule, why = tunables.schedule(t.source, t.python, t.file)
  t.schedule, t.no_schedule = schedule or false, why
  return t.schedule
end

function triton.new(spec)
  local t = {
    name = spec.name, summary = spec.summary or spec.name, kind = spec.kind, file = spec.file,
    dir = path.dir(spec.file), language = "triton", source = spec.source, python = spec.python,
    renews = true,              -- its worker has new processes for what confirms a winner
    baseline = { triton = spec.file }, reference = { triton = spec.file },
    hash = core.system.hash(table.concat({ spec.source, spec.tests or "", spec.perf or "" }, "\0")),
    job = { kind = spec.kind, module = spec.module, source = spec.source, tests = spec.tests,
            perf = spec.perf } }
  function t.environment(options) return environment(t, options) end
  t.with_evidence = require("kernelband.evaluate.evidence_triton").add
  function t.worker_argv(device)
    return { interpreter(t), python.worker, "serve", device, python.inject() }
  end
  function t.limits()
    local pairs_s = t.job.pairs and PAIRS_S or 0
    return { open_s = (t.job.open_s or OPEN_S) + BEYOND_S + MEMORY_S + pairs_s,
             evaluate_s = EVALUATE_S + BEYOND_S + PAIRS_S }    -- pairs of what confirms a winner
  end
  return setmetatable(t, { __index = lazily })
end

return triton
