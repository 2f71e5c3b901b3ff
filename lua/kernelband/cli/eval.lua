-- kernelband eval TASK SOURCE: one candidate through all checks.
local with     = require("kernelband.base.lists").with
local core     = require "kernelband.core"
local json     = require "kernelband.base.json"
local progress = require "kernelband.search.progress"
local schema   = require "kernelband.base.schema"
local task     = require "kernelband.task"
local fill     = require("kernelband.base.template").fill

-- Fields that are always there, null where there is nothing to say.
local always = {}
for _, name in ipairs { "verdict", "reason", "time_ns", "baseline_ns", "speedup", "speedup_low",
                        "speedup_high", "shapes" } do always[name] = json.null end

local function print_json(t, source, out, nulls)
  local object = with(with(always, nulls), out)
  object.task, object.source = t.name, source
  for _, name in ipairs { "shapes", "checks", "weakened", "inputs" } do
    if object[name] and #object[name] == 0 then object[name] = json.empty_list end
  end
  print(json.encode(object))
end

local function text_of(out)
  local speedups = progress.table(out, "candidate"):sub(1, -2)
  return fill("cli/judged.eval", with(out, { speedups = speedups })) .. "\n"
end

-- Evaluates a source under a task. how: device, confirm, profile, strict; without a device the
-- source's name says it. Evaluation and machine; nothing when it was interrupted.
local function judge(t, file, source, how)
  local name = task.device(how.device or (file:match "%.cu$" and "cuda:0" or "cpu"), t)
  local evaluator = require("kernelband.worker").start { task = t, device = name, source = source }
  local out = evaluator.baseline()      -- the source's where that does not build
  if not out then return nil end
  if out.verdict == "ok" then
    out = evaluator.evaluate({ source = source },
      { confirm = how.confirm, profile = how.profile, strict = how.strict })
  end
  evaluator.close()
  if how.strict and out.verdict == "ok" and core.language(name) == "cuda" then
    local bad = require("kernelband.evaluate.strict").sanitizer(out, t.dir, file, name)
    if bad then bad.checks, bad.weakened, bad.shapes = out.checks, out.weakened, {} end
    out = bad or out
  end
  if out.reason then            -- the compiler was given a copy
    out.reason = out.reason:gsub("^kernel%.c:", function() return file .. ":" end)
  end
  return out, evaluator.machine()
end

-- Runs a verb that judges TASK SOURCE. verb: how besides its options; text_of(evaluation, machine);
-- nulls, by name, of what its JSON always has.
local function run(opt, rest, verb)
  local t, file = task.load(rest[1]), rest[2]
  local source, why = core.system.read_file(file)
  if not source then schema.raise("kernelband %s: %s", verb[1], why) end
  local out, machine = judge(t, file, source, with(opt, verb.how))
  if not out then return 130 end
  if opt.json then
    print_json(t, file, out, verb.nulls)
  elseif out.verdict == "ok" then
    io.write(verb.text_of(out, machine))
  else
    print(("%s: %s"):format(out.verdict, out.reason))
    if out.log and out.log ~= out.reason then io.stderr:write(out.log, "\n") end
  end
  return out.verdict == "ok" and 0 or 1
end

return { "eval", args = "TASK SOURCE",
  options = { "json", { "confirm", doc = "time in more blocks, for a narrower interval" },
              "strict", "device" },
  text_of = text_of, run = run,
}
