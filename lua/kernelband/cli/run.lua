-- kernelband run FILE [ARGS] - an experiment, or any other script.
local core   = require "kernelband.core"
local path   = require "kernelband.path"
local schema = require "kernelband.schema"

local usage = "kernelband run FILE [ARGS]"

local function load_script(name)
  local file, looked = path.find(name)
  if not file then
    schema.raise("kernelband: no such script: %s", looked)
  elseif core.system.exists(file) == "dir" then
    schema.raise("kernelband: '%s' is a folder, expected a Lua script", file)
  end
  local chunk, why = loadfile(file, "t")
  if not chunk then schema.raise("%s", why) end
  return chunk, file
end

local function run(args)
  local name = args[1]
  if not name then
    schema.raise("kernelband: which script?\nusage: %s", usage)
  elseif name:sub(1, 1) == "-" then
    schema.raise("kernelband: unknown option '%s'\nusage: %s", name, usage)
  end
  local chunk, file = load_script(name)
  local dir = path.dir(file)
  package.path = ("%s;%s/?.lua;%s/?/init.lua"):format(package.path, dir, dir)
  arg = table.move(args, 2, #args, 1, { [0] = file }) -- luacheck: globals arg
  chunk(table.unpack(arg))
  return 0
end

return {
  summary = "runs an experiment script",
  usage = usage,
  help = [[
FILE is Lua with ARGS as ... and as the global arg; require also finds modules
beside it. Interrupt once to end in good order, twice to give up waiting.]],
  script = true,
  run = run,
}
