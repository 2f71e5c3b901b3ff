-- kernelband eval TASK SOURCE: one candidate through all checks.
local with     = require("kernelband.base.lists").with
local core     = require "kernelband.core"
local cjson    = require "cjson"
local json     = require "kernelband.base.json"
local options  = require "kernelband.cli.options"
local progress = require "kernelband.search.progress"
local schema   = require "kernelband.base.schema"
local task     = require "kernelband.task"

-- Fields that are always there, null where there is nothing to say.
local always = {}
for _, name in ipairs { "verdict", "reason", "time_ns", "baseline_ns", "speedup", "speedup_low",
                        "speedup_high", "shapes" } do always[name] = cjson.null end

local function print_json(t, source, out)
  local object = with(with(always, { task = t.name, source = source }), out)
  for _, name in ipairs { "shapes", "checks", "weakened", "inputs" } do
    if object[name] and #object[name] == 0 then object[name] = json.empty_list end
  end
  print(json.encode(object))
end

local function print_failure(out)
  print(("%s: %s"):format(out.verdict, out.reason))
  if out.log and out.log ~= out.reason then io.stderr:write(out.log, "\n") end
end

local function print_text(out)
  if out.verdict ~= "ok" then return print_failure(out) end
  io.write(progress.table(out, "candidate"))
  if out.noise then
    print(("the baseline against itself: %.4f +- %.2f %%; a win here is more than %.2f %%"):format(
      math.exp(out.noise.bias), 200 * out.noise.sigma, 100 * (math.exp(out.noise.least) - 1)))
  end
  for _, text in ipairs(out.findings or {}) do print("finding: " .. text) end
  if out.quarantined then print("measured twice: " .. out.quarantined) end
  for _, text in ipairs(out.weakened or {}) do print("weakened: " .. text) end
end

-- Evaluates TASK SOURCE, the words of a verb. how: device, confirm, profile, strict; without a
-- device the source's name says it. Task, file, evaluation and machine; without an evaluation it
-- was interrupted.
local function judge(verb, rest, how)
  local t, file = task.load(rest[1]), rest[2]
  local source, why = core.system.read_file(file)
  if not source then schema.raise("kernelband %s: %s", verb, why) end
  local name = task.device(how.device or (file:match "%.cu$" and "cuda:0" or "cpu"), t)
  local evaluator = require("kernelband.worker").start { task = t, device = name }
  if not evaluator.baseline() then return t, file end
  local out = evaluator.evaluate({ source = source },
    { confirm = how.confirm, profile = how.profile, strict = how.strict })
  evaluator.close()
  if how.strict and out.verdict == "ok" and core.language(name) == "cuda" then
    local bad = require("kernelband.evaluate.strict").sanitizer(out, t.dir, file, name)
    if bad then bad.checks, bad.weakened, bad.shapes = out.checks, out.weakened, {} end
    out = bad or out
  end
  return t, file, out, evaluator.machine()
end

return options.verb { "eval",
  summary = "judge one source: build, check, time, profile",
  args = "TASK SOURCE",
  options = {
    options.json,
    { "confirm", doc = "time in more blocks, for a narrower interval" },
    { "strict", doc = "run the slow checks too" },
    options.device,
  },
  judge = judge, print_json = print_json, print_failure = print_failure,
  run = function(opt, rest)
    local t, file, out = judge("eval", rest, opt)
    if not out then return 130 end
    if out.reason then          -- the compiler was given a copy
      out.reason = out.reason:gsub("^kernel%.c:", function() return file .. ":" end)
    end
    if opt.json then print_json(t, file, out) else print_text(out) end
    return out.verdict == "ok" and 0 or 1
  end,
}
