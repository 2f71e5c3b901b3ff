-- kernelband serve RUN - the report of a run as it goes on, for a browser here.
local core    = require "kernelband.core"
local schema  = require "kernelband.base.schema"

return { "serve", args = "RUN", folders = true,
  options = { { "port", "N", whole = true, most = 65535,
                doc = "the port on 127.0.0.1; any free one unless given" } },
  run = function(opt, rest)
    local port, folder = opt.port or 0, rest[1]:gsub("(.)/+$", "%1")
    local there = core.system.exists(folder)
    if there and there ~= "dir" then
      schema.raise("kernelband serve: %s is a file, expected the folder of a run", folder)
    elseif not core.system.exists(folder .. "/run.db") then
      io.stderr:write(("waiting for %s: there is no run in it yet\n"):format(folder))
    end
    local ok, why = require("kernelband.report.live").serve(folder, port,
      function(url) io.write(url, "\n"):flush() end,
      function() return core.system.interrupts() > 0 end)
    if not ok then error(("kernelband serve: port %d: %s"):format(port, why), 0) end
  end,
}
