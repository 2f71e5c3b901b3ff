-- trace/run.lua - a run as a recorded space: the candidates that it evaluated, by their
-- parameters. Times are the baseline's first time over the paired speed-up, as in a recording.
local find   = require("kernelband.base.lists").find
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local run    = require "kernelband.store.run"
local schema = require "kernelband.base.schema"
local text   = require "kernelband.base.text"

local source = {}

-- The folder of a run that a path names, itself or its run.db; nil: it names none.
function source.folder(file)
  if core.system.exists(file) == "dir" then return file end
  return file:match "^(.*)/run%.db$" or file == "run.db" and "." or nil
end

-- The strategies of a recording (record.lua), which its generator's identity has; nil of other
-- runs: each axis is a strategy then.
local function strategies_of(identity)
  return json.table(tostring(identity.generator):match "^points of (.*)$")
end

-- Times of a block, on the baseline's first time: over the shapes, the geometric mean of
-- candidate over baseline.
local function samples_of(evaluation, baseline_ns)
  local n, blocks = math.huge, {}
  for _, shape in ipairs(evaluation.shapes or {}) do
    local samples = shape.samples or {}
    local mine = samples.candidate or shape.samples_ns
    local base = samples.baseline or shape.baseline_samples_ns
    if not mine or not base then return nil end
    n = math.min(n, #mine, #base)
    blocks[#blocks + 1] = { mine, base }
  end
  if #blocks == 0 or n < 2 then return nil end
  local out = {}
  for i = 1, n do
    local sum = 0
    for _, pair in ipairs(blocks) do sum = sum + math.log(pair[1][i] / pair[2][i]) end
    out[i] = baseline_ns * math.exp(sum / #blocks)
  end
  return out
end

function source.read(folder, read)
  local reader <close> = run.reader(folder)
  local file, first = folder .. "/run.db", reader:kernels()[1]
  local named = first and type(first.params) == "table" and first.params or {}
  local axes = #named == 0 and text.keys(named) or {}             -- a list has no names
  if #axes == 0 then
    schema.raise("%s: its kernels have no named parameters, so it is no tuning space: a run of "
                 .. "the built-in generator is one", file)
  end
  local space = read.space(file, axes)
  space.strategies = strategies_of(reader:experiment().identity)
  space.start = {}
  for a, name in ipairs(axes) do space.start[a] = named[name] end
  local function add(where, params, verdict, time_ns, found)
    if type(params) ~= "table"
       or find(axes, function(name) return params[name] == nil end) then return end
    space.add(where, params, read.row(file, where, { verdict = verdict, time = time_ns,
      samples = space.strategies and verdict == "ok" and samples_of(found, first.time_ns) or nil,
      evidence = found.evidence }))
  end
  local baseline = reader:evaluations("baseline")[1]
  add("kernel 1", named, "ok", first.time_ns, baseline and baseline.evaluation or {})
  for _, e in ipairs(reader:evaluations()) do
    local found = e.evaluation
    if (e.kind == "pull" or e.kind == "repair" or e.kind == "tune") and found then
      local speedup = type(found.speedup) == "number" and found.speedup or 0
      local time_ns = speedup > 0 and first.time_ns / speedup or found.time_ns
      add("evaluation " .. e.id, e.params, e.verdict, time_ns, found)
    end
  end
  return space
end

return source
