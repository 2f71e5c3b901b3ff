-- kernelband resume RUN - goes on with a run that was stopped, or has a new budget.
local core    = require "kernelband.core"
local run     = require "kernelband.store.run"
local schema  = require "kernelband.base.schema"

local function script_of(opt, experiment, folder)
  local file = opt.script or experiment.script
  schema.must(file, "kernelband: %s was not started from a script file; name one with --script",
    folder)
  local real = core.system.exists(file) == "file" and core.system.realpath(file)
  -- What came with the folder may be anybody's: it is run when somebody says so.
  local own = real and real:sub(1, #folder + 1) == folder .. "/"
  if real and (opt.script or not own) then return real end
  local kept = own and real or folder .. "/script.lua"
  schema.raise("kernelband: %s%s",
    own and "its script lies in the run's own folder" or "there is no script " .. file,
    core.system.exists(kept) == "file" and ("; what it said is in %s: read it, then run "
      .. "kernelband resume %s --script %s"):format(kept, folder, kept) or "")
end

local function resume(opt, rest)
  local folder = rest[1]
  local experiment, why = run.experiment(folder)
  if not experiment then schema.raise("kernelband: %s", why) end
  folder = core.system.realpath(folder)
  local script = script_of(opt, experiment, folder)
  local budget = { steps = opt.steps, minutes = opt.minutes, usd = opt.usd, tokens = opt.tokens }
  run.resuming { folder = folder, force = opt.force, budget = next(budget) and budget,
                 out = experiment.options and experiment.options.out }
  -- Its script may name files from where it was started.
  local here = core.system.realpath "."
  if here ~= experiment.directory and not core.system.chdir(experiment.directory) then
    io.stderr:write(("kernelband: the folder %s, where the run was started, is gone; going on "
                     .. "from here\n"):format(experiment.directory))
  end
  require("kernelband.search.progress").mode(opt.progress)
  local code = require("kernelband.cli.run").start { script, table.unpack(experiment.args or {}) }
  if run.resuming().met then return code end
  schema.raise("kernelband: the script %s ran, but no search of it writes to %s", script, folder)
end

return { "resume", args = "RUN", folders = true, run = resume,
  options = {
    { "steps", "N", whole = true, doc = "a new budget of pulls" },
    { "minutes", "M", number = true, doc = "a new budget of time" },
    { "usd", "X", number = true, doc = "a new budget of money" },
    { "tokens", "N", whole = true, doc = "a new budget of tokens" },
    { "force", doc = "go on though task, policy or strategies changed; the journal says so" },
    { "script", "FILE", file = true, doc = "in place of the script that started the run" },
    "progress",
  },
}
