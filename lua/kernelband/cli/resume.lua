-- kernelband resume RUN - goes on with a run that was stopped.
local core   = require "kernelband.core"
local run    = require "kernelband.run"
local schema = require "kernelband.schema"

local usage = "kernelband resume RUN"

local function resume(args)
  local folder = args[1]
  if not folder or #args > 1 or folder:sub(1, 1) == "-" then
    schema.raise("kernelband: which run folder?\nusage: %s", usage)
  end
  local experiment, why = run.experiment(folder)
  if not experiment then schema.raise("kernelband: %s", why) end
  if not experiment.script then
    schema.raise("kernelband: %s was not started from a script file", folder)
  end
  local here = core.system.realpath(".")
  if here ~= experiment.directory then
    schema.raise("kernelband: %s was started in another folder, and its "
      .. "script may name files from there:\n  cd %s && kernelband resume %s",
      folder, experiment.directory, core.system.realpath(folder))
  end
  run.resuming(folder)
  local words = table.move(experiment.args, 1, #experiment.args, 2,
                           { experiment.script })
  return require("kernelband.cli.run").run(words)
end

return {
  summary = "goes on with a run that was stopped",
  usage = usage,
  help = [[
RUN is the folder a search wrote to (its `out`). The script that started it is
run again with the same arguments; its recorded pulls are replayed from the
journal, and the search goes on where it stopped.]],
  run = resume,
}
