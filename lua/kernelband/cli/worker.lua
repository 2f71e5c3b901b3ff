-- kernelband worker: serves an engine over stdin and stdout. Not for people,
-- save those who start one through ssh or srun.
local options = require "kernelband.options"

local usage = "kernelband worker [--device cpu|cpu:N]"

return {
  summary = "judge candidates for an engine, frames on stdin and stdout",
  usage = usage,
  run = function(args)
    local opt = options.parse(args, { usage = usage, values = { "device" }, most = 0 })
    return require("kernelband.worker").serve(opt.device or "cpu")
  end,
}
