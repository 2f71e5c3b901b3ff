-- kernelband run FILE [ARGS] - an experiment, or any other script.
local core     = require "kernelband.core"
local path     = require "kernelband.base.path"
local schema   = require "kernelband.base.schema"

-- args: the script and its own arguments; arg[0] is the script's whole path, as in a resumed run:
-- what a script makes of it, such as a generator's command, is the same then. A search that had to
-- stop because a model was refused is not done, whatever the script made of it.
local function start(args)
  local file = path.found(args[1], "kernelband", "no such script: %s")
  schema.must(core.system.exists(file) ~= "dir",
    "kernelband: '%s' is a folder, expected a Lua script", file)
  local chunk = schema.load_file(file)
  local dir = path.dir(file)
  package.path = ("%s;%s/?.lua;%s/?/init.lua"):format(package.path, dir, dir)
  arg = { [0] = core.system.realpath(file), table.unpack(args, 2) } -- luacheck: globals arg
  chunk(table.unpack(arg))
  local search = package.loaded["kernelband.search.search"]
  return search and search.refused and 1 or 0
end

return { "run", args = "FILE [ARGS]", script = true, start = start,
  options = {
    { "resume", doc = "searches whose `out` holds a run go on with it" },
    { "force", doc = "with --resume: though task, policy or strategies changed" },
    "progress",
  },
  -- --resume, which people add to a line they repeat, and --force are ours at its end too.
  run = function(opt, words, verb)
    while #words > 1 and (words[#words] == "--resume" or words[#words] == "--force") do
      opt[table.remove(words):sub(3)] = true
    end
    if opt.force and not opt.resume then verb:misuse("--force goes with --resume") end
    if opt.progress then require("kernelband.search.progress").mode(opt.progress) end
    if opt.resume then require("kernelband.store.run").resuming { force = opt.force } end
    return start(words)
  end,
}
