-- kernelband export RUN - a run for other tools.
local export  = require "kernelband.report.export"
local options = require "kernelband.cli.options"
local run     = require "kernelband.store.run"
local schema  = require "kernelband.base.schema"

local usage = "kernelband export RUN --jsonl|--csv|--t4|--sft [-o FILE]"

local formats = { "jsonl", "csv", "t4", "sft" }

local opts = {
  { "jsonl", doc = "JSON lines: experiment, baseline, then everything a pull" },
  { "csv", doc = "one row a pull" },
  { "t4", doc = "T4, the exchange format of auto-tuning results" },
  { "sft", doc = "JSON lines of prompt, answer, verdict and reward, for training" },
  { "out", "FILE", short = "o", file = true, doc = "where to write; standard output unless given" },
}

return {
  summary = "writes a run as JSON lines, CSV, T4 or training pairs",
  usage = usage, options = opts, folders = true,
  help = "T4 is what Kernel Tuner's tools and kb.trace read; kernelband import reads it back.",
  run = function(args)
    local opt, rest = options.parse(args, { usage = usage, options = opts, least = 1, most = 1 })
    local chosen
    for _, name in ipairs(formats) do
      if opt[name] and chosen then
        schema.raise("kernelband: --%s and --%s: one format at a time\nusage: %s", chosen, name,
                     usage)
      end
      chosen = opt[name] and name or chosen
    end
    if not chosen then schema.raise("kernelband: which format?\nusage: %s", usage) end
    local j <close> = run.reader(rest[1], "anyway")
    if j.damage then io.stderr:write("kernelband: ", j.damage, "\n") end
    local function must(done, why)
      if not done then schema.stop("kernelband export: " .. why) end
      return done
    end
    local file = opt.out and must(io.open(opt.out, "w")) or io.stdout
    must(export[chosen](j, function(text) must(file:write(text)) end))
    if opt.out then must(file:close()) else must(file:flush()) end
    return j.damage and 1 or 0
  end,
}
