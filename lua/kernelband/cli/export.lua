-- kernelband export RUN - a run for other tools.
local export  = require "kernelband.report.export"
local options = require "kernelband.cli.options"
local run     = require "kernelband.store.run"
local schema  = require "kernelband.base.schema"

local formats = {
  { "jsonl", doc = "JSON lines: the experiment, the baseline, then one object a pull" },
  { "csv", doc = "one row a pull" },
  { "t4", doc = "T4, the exchange format of auto-tuning results" },
  { "sft", doc = "JSON lines of prompt, answer, verdict and reward, for training" },
}

local verb

local function format_of(opt)
  local chosen
  for _, format in ipairs(formats) do
    local name = format[1]
    if opt[name] and chosen then
      options.misuse(verb, "--%s and --%s: one format at a time", chosen, name)
    end
    chosen = opt[name] and name or chosen
  end
  return chosen or options.misuse(verb, "which format?")
end

verb = options.verb { "export",
  summary = "write a run as JSON lines, CSV, T4 or training pairs",
  args = "RUN", folders = true,
  options = { formats[1], formats[2], formats[3], formats[4],
              options.out "where to write; standard output unless given" },
  help = "Give one format. Kernel Tuner's tools and kb.trace read T4; kernelband import makes a\n"
         .. "run of it again.",
  run = function(opt, rest)
    local format = format_of(opt)
    local j <close> = run.reader(rest[1], "anyway")
    if j.damage then io.stderr:write("kernelband: ", j.damage, "\n") end
    local function must(done, why)
      return done or schema.stop("kernelband export: " .. why)
    end
    local file = opt.out and must(io.open(opt.out, "w")) or io.stdout
    must(export[format](j, function(text) must(file:write(text)) end))
    if opt.out then must(file:close()) else must(file:flush()) end
    return j.damage and 1 or 0
  end,
}
return verb
