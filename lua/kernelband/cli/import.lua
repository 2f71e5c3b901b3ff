-- kernelband import FILE -o RUN - results recorded elsewhere as a run folder.
local import  = require "kernelband.report.import"
local options = require "kernelband.cli.options"

local out = options.out("the run folder to make", "RUN")
out.required = true

return options.verb { "import",
  summary = "make a run folder of T4 results, for report and export",
  args = "FILE", options = { out },
  run = function(opt, rest, verb)
    if not opt.out then options.misuse(verb, "which folder? -o RUN") end
    local folder = opt.out:gsub("(.)/+$", "%1")
    print(("%s: %d results"):format(folder, import.t4(rest[1], folder)))
  end,
}
