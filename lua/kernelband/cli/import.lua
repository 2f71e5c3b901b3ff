-- kernelband import FILE -o RUN - results recorded elsewhere as a run folder.
local import  = require "kernelband.report.import"
local options = require "kernelband.cli.options"
local schema  = require "kernelband.base.schema"

local usage = "kernelband import FILE -o RUN"

local opts = {
  { "out", "RUN", short = "o", file = true, doc = "the run folder to make" },
}

return {
  summary = "makes a run folder of T4 results, for report and export",
  usage = usage, options = opts,
  help = "FILE is T4, plain or gzip: ours, or of any tool that writes it. A file of another tool\n"
         .. "knows no parents and no strategies; its first valid configuration is the baseline.",
  run = function(args)
    local opt, rest = options.parse(args, { usage = usage, options = opts, least = 1, most = 1 })
    if not opt.out then schema.raise("kernelband: which folder? -o RUN\nusage: %s", usage) end
    local out = opt.out:gsub("(.)/+$", "%1")
    local n = import.t4(rest[1], out)
    print(("%s: %d results"):format(out, n))
    return 0
  end,
}
