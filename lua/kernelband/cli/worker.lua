-- kernelband worker: serves an engine over stdin and stdout. Users start one only through ssh
-- or srun.
local task    = require "kernelband.task"

return { "worker", options = { "device" },
  run = function(opt)
    local name = opt.device or "cpu"
    if name ~= "builder" then name = task.device(name, {}) end      -- one that compiles ahead
    return require("kernelband.worker.server").serve(name)
  end,
}
