-- kernelband eval TASK SOURCE: one candidate through all checks.
local core     = require "kernelband.core"
local cjson    = require "cjson"
local json     = require "kernelband.json"
local options  = require "kernelband.options"
local progress = require "kernelband.progress"
local schema   = require "kernelband.schema"
local task     = require "kernelband.task"

local usage = "kernelband eval TASK SOURCE [--json] [--confirm] [--device cpu|cpu:N]"

-- Fields that are always there, null where there is nothing to say.
local always = { "verdict", "reason", "time_ns", "baseline_ns", "speedup", "speedup_low",
                 "speedup_high", "shapes" }

local function print_json(t, source, out)
  local object = { task = t.name, source = source }
  for k, v in pairs(out) do object[k] = v end
  if #out.shapes == 0 then object.shapes = json.empty_list end
  for _, name in ipairs(always) do
    if object[name] == nil then object[name] = cjson.null end
  end
  print(json.encode(object))
end

local function print_text(out)
  if out.verdict ~= "ok" then
    print(("%s: %s"):format(out.verdict, out.reason))
    if out.log and out.log ~= out.reason then io.stderr:write(out.log, "\n") end
    return
  end
  io.write(progress.table(out, "candidate"))
end

-- opt: device, confirm, profile. Evaluation and machine; nil: interrupted.
local function evaluate(t, source, opt)
  local evaluator = require("kernelband.worker").start { task = t, device = opt.device or "cpu" }
  local baseline = evaluator.baseline()
  if not baseline then return nil end
  evaluator.submit(1, { source = source }, { confirm = opt.confirm,
                                               profile = opt.profile })
  while true do
    local ticket, out, code = evaluator.next(10 ^ 9 // 1)
    if ticket then
      evaluator.close()
      return out, evaluator.machine()
    elseif code ~= "ETIME" and code ~= "EINTR" then
      error("the worker is lost: " .. tostring(out), 0)
    end
    if core.system.interrupts() > 0 then
      evaluator.close()
      return nil
    end
  end
end

return {
  summary = "judge one source: build, check, time, profile",
  usage = usage, evaluate = evaluate, print_json = print_json,
  help = "Exit status: 0 when the verdict is ok, 1 for any other. --json prints one object.\n"
         .. "--confirm times in more blocks, for a narrower interval.",
  run = function(args)
    local opt, rest = options.parse(args, { usage = usage, flags = { "json", "confirm" },
                                            values = { "device" }, least = 2, most = 2 })
    local t = task.load(rest[1])
    local source, why = core.system.read_file(rest[2])
    if not source then schema.raise("kernelband eval: %s", why) end
    local out = evaluate(t, source, opt)
    if not out then return 130 end
    for _, r in ipairs(out.shapes) do r.samples_ns, r.baseline_samples_ns = nil, nil end
    if opt.json then print_json(t, rest[2], out) else print_text(out) end
    return out.verdict == "ok" and 0 or 1
  end,
}
