-- kernelband worker: serves an engine over stdin and stdout. Not for people,
-- save those who start one through ssh or srun.
local device  = require "kernelband.task.device"
local options = require "kernelband.cli.options"

local usage = "kernelband worker [--device cpu|cpu:N]"

local opts = {
  { "device", "D", one_of = { "cpu", "cuda:0" }, doc = "cpu, cpu:N or cuda:N" },
}

return {
  summary = "judge candidates for an engine, frames on stdin and stdout",
  usage = usage, options = opts,
  run = function(args)
    local opt = options.parse(args, { usage = usage, options = opts, most = 0 })
    local name = opt.device or "cpu"
    if name ~= "builder" then name = device.resolve(name, {}) end      -- see builders.lua
    return require("kernelband.worker").serve(name)
  end,
}
