-- kernelband serve RUN - the report of a run as it goes on, for a browser here.
local core    = require "kernelband.core"
local options = require "kernelband.cli.options"
local schema  = require "kernelband.base.schema"

local usage = "kernelband serve RUN [--port N]"

local opts = {
  { "port", "N", doc = "the port on 127.0.0.1; any free one unless given" },
}

return {
  summary = "shows a run in the browser while it goes on",
  usage = usage, options = opts, folders = true,
  help = [[
Prints an address that only this machine can reach and that holds a random token: who has
it can read, and nobody can change anything. The page updates itself. Ctrl-C ends it; the
search does not notice either way. Over ssh: ssh -L PORT:127.0.0.1:PORT HOST.]],
  run = function(args)
    local opt, rest = options.parse(args, { usage = usage, options = opts, least = 1,
                                            most = 1 })
    local port = math.tointeger(tonumber(opt.port or 0))
    if not port or port < 0 or port > 65535 then
      schema.raise("kernelband: --port: expected 1..65535, got '%s'\nusage: %s", opt.port, usage)
    end
    local folder = rest[1]:gsub("(.)/+$", "%1")
    local there = core.system.exists(folder)
    if there and there ~= "dir" then
      schema.raise("kernelband serve: %s is a file, expected the folder of a run", folder)
    elseif not core.system.exists(folder .. "/run.db") then
      io.stderr:write(("waiting for %s: there is no run in it yet\n"):format(folder))
    end
    local ok, why = require("kernelband.report.live").serve(folder, port, function(url)
      print(url)
      io.stdout:flush()
    end, function() return core.system.interrupts() > 0 end)
    if not ok then error(("kernelband serve: port %d: %s"):format(port, why), 0) end
    return 0
  end,
}
