-- kernelband lab POLICY.lua - a policy beside the shipped ones.
local core    = require "kernelband.core"
local options = require "kernelband.cli.options"
local path    = require "kernelband.base.path"
local run     = require "kernelband.cli.run"
local schema  = require "kernelband.base.schema"

local usage = "kernelband lab POLICY.lua [--seeds N] [--steps T]"

-- Of fewer seeds a resampling calls what is chance sure.
local function whole(opt, name, default, least)
  local n = math.tointeger(tonumber(opt[name] or default))
  if not n or n < least then
    schema.raise("kernelband: --%s must be a whole number from %d up, got '%s'\nusage: %s", name,
                 least, opt[name], usage)
  end
  return tostring(n)
end

return {
  summary = "compares a policy with the shipped ones",
  usage = usage,
  options = {
    { "seeds", "N", doc = "searches a policy and space, from 6 up; default 8" },
    { "steps", "T", doc = "pulls of a search; default 60" },
  },
  help = [[
Runs POLICY.lua and every shipped policy on the recorded spaces that come with kernelband
(examples/traces), on all processors, and says which are better, which worse and which
within chance. kernelband new policy NAME writes a policy to begin with.]],
  run = function(args)
    local opt, rest = options.parse(args, { usage = usage, least = 1, most = 1, options = {
      { "seeds", "N" }, { "steps", "T" } } })
    local file, looked = path.find(rest[1])
    if not file then schema.raise("kernelband: no such policy: %s", looked) end
    return run.start { "examples/lab/own.lua", core.system.realpath(file) or file,
                       whole(opt, "seeds", 8, 6), whole(opt, "steps", 60, 1) }
  end,
}
