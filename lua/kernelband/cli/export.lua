-- kernelband export RUN - a run for other tools.
local collect = require("kernelband.base.lists").collect
local export  = require "kernelband.report.export"
local run     = require "kernelband.store.run"
local schema  = require "kernelband.base.schema"

local opts = collect(export.formats, function(f) return { f[1], doc = f[2] } end)
opts[#opts + 1] = "out"

local function format_of(opt, verb)
  local chosen = collect(export.formats, function(f) return opt[f[1]] and f end)
  if #chosen == 0 then verb:misuse("which format?") end
  if #chosen == 1 then return chosen[1] end
  verb:misuse("--%s and --%s: one format at a time", chosen[1][1], chosen[2][1])
end

return { "export", args = "RUN", folders = true, options = opts,
  run = function(opt, rest, verb)
    local write = format_of(opt, verb)[3]
    local j <close> = run.reader(rest[1], "anyway")
    if j.damage then io.stderr:write("kernelband: ", j.damage, "\n") end
    local function must(done, why) return done or schema.stop("kernelband export: " .. why) end
    local file = opt.out and must(io.open(opt.out, "w")) or io.stdout
    must(write(j, function(text) must(file:write(text)) end))
    must(file[opt.out and "close" or "flush"](file))
    return j.damage and 1 or 0
  end,
}
