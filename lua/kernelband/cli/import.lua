-- kernelband import FILE -o RUN - results recorded elsewhere as a run folder.
local import  = require "kernelband.report.import"

return { "import", args = "FILE",
  options = { { "out", "RUN", required = true, doc = "the run folder to make" } },
  run = function(opt, rest, verb)
    if not opt.out then verb:misuse("which folder? -o RUN") end
    local folder = opt.out:gsub("(.)/+$", "%1")
    print(("%s: %d results"):format(folder, import.t4(rest[1], folder)))
  end,
}
