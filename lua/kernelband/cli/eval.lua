-- kernelband eval TASK SOURCE: one candidate through all checks.
local core     = require "kernelband.core"
local cjson    = require "cjson"
local device   = require "kernelband.device"
local json     = require "kernelband.json"
local options  = require "kernelband.options"
local progress = require "kernelband.progress"
local schema   = require "kernelband.schema"
local task     = require "kernelband.task"

local usage = "kernelband eval TASK SOURCE [--json] [--confirm] [--device cpu|cpu:N|cuda:N]"

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

-- opt: device, confirm, profile; file: where the source comes from, which says
-- the device when nobody does. Evaluation and machine; nil: interrupted.
local function evaluate(t, source, opt, file)
  local name = opt.device or (file and file:match "%.cu$" and "cuda:0" or "cpu")
  name = device.resolve(name, t)
  local evaluator = require("kernelband.worker").start { task = t, device = name }
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
         .. "--confirm times in more blocks, for a narrower interval. A source that ends in .cu\n"
         .. "is judged on the first GPU, any other on the CPU, unless --device says.",
  run = function(args)
    local opt, rest = options.parse(args, { usage = usage, flags = { "json", "confirm" },
                                            values = { "device" }, least = 2, most = 2 })
    local t = task.load(rest[1])
    local source, why = core.system.read_file(rest[2])
    if not source then schema.raise("kernelband eval: %s", why) end
    local out = evaluate(t, source, opt, rest[2])
    if not out then return 130 end
    if opt.json then print_json(t, rest[2], out) else print_text(out) end
    return out.verdict == "ok" and 0 or 1
  end,
}
