-- kernelband lab POLICY.lua - a policy beside the shipped ones.
local core    = require "kernelband.core"
local path    = require "kernelband.base.path"
local run     = require "kernelband.cli.run"

return { "lab", args = "POLICY.lua",
  options = {                           -- resampling fewer than 6 seeds calls chance sure
    { "seeds", "N", whole = true, least = 6,
      doc = "searches of each policy on each space, at least 6; default 8" },
    { "steps", "T", whole = true, least = 1, doc = "pulls of a search; default 60" },
  },
  run = function(opt, rest)
    local file = path.found(rest[1], "kernelband", "no such policy: %s")
    return run.start { "examples/lab/own.lua", core.system.realpath(file) or file,
                       tostring(opt.seeds or 8), tostring(opt.steps or 60) }
  end,
}
