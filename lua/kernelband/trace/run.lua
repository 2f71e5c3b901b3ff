-- trace/run.lua - a run as a recorded space: the candidates that it evaluated, by their
-- parameters. Times are the baseline's first time over the paired speed-up, as in a recording.
local lists  = require "kernelband.base.lists"
local core   = require "kernelband.core"
local json   = require "kernelband.base.json"
local read   = require "kernelband.trace.read"
local run    = require "kernelband.store.run"
local schema = require "kernelband.base.schema"

local source = {}

-- The folder of a run that a path names, itself or its run.db; nil: it names none.
function source.folder(file)
  if core.system.exists(file) == "dir" then return file end
  return file:match "^(.*)/run%.db$" or file == "run.db" and "." or nil
end

-- Times of a block, on the baseline's first time: over the shapes, the geometric mean of
-- candidate over baseline.
local function samples_of(evaluation, baseline_ns)
  local n, out = math.huge, {}
  local blocks = lists.collect(evaluation.shapes or {}, function(shape) return shape.samples end)
  for _, block in ipairs(blocks) do n = math.min(n, #block.candidate, #block.baseline) end
  if #blocks == 0 or #blocks < #evaluation.shapes or n < 2 then return nil end
  for i = 1, n do
    local sum = 0
    for _, b in ipairs(blocks) do sum = sum + math.log(b.candidate[i] / b.baseline[i]) end
    out[i] = baseline_ns * math.exp(sum / #blocks)
  end
  return out
end

function source.read(folder)
  local reader <close> = run.reader(folder)
  local file, first = folder .. "/run.db", reader:kernels()[1]
  local named = first and type(first.params) == "table" and first.params or {}
  local axes = #named == 0 and lists.keys(named) or {}             -- a list has no names
  schema.must(#axes > 0, "%s: its kernels have no named parameters, so it is no tuning space: a "
              .. "run of the built-in generator is one", file)
  local space = read.space(file, axes)
  -- The generator of a recording (record.lua) names strategies; of other runs each axis is one.
  local generator = tostring(reader:experiment().identity.generator)
  space.strategies = json.table(generator:match "^points of (.*)$")
  space.start = named
  local function add(where, params, verdict, time_ns, found)
    if type(params) ~= "table"
       or lists.find(axes, function(name) return params[name] == nil end) then return end
    space.add(where, params, read.row(where, { verdict = verdict, time = time_ns,
      samples = space.strategies and verdict == "ok" and samples_of(found, first.time_ns) or nil,
      evidence = found.evidence }))
  end
  local baseline = reader:evaluations("baseline")[1]
  add(file .. ": kernel 1", named, "ok", first.time_ns, baseline and baseline.evaluation or {})
  for _, e in ipairs(reader:evaluations()) do
    local found = e.evaluation
    if (e.kind == "pull" or e.kind == "repair" or e.kind == "tune") and found then
      local speedup = type(found.speedup) == "number" and found.speedup or 0
      local time_ns = speedup > 0 and first.time_ns / speedup or found.time_ns
      add(("%s: evaluation %d"):format(file, e.id), e.params, e.verdict, time_ns, found)
    end
  end
  return space
end

return source
