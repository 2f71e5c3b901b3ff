-- kernelband resume RUN - goes on with a run that was stopped, or has a new budget.
local core    = require "kernelband.core"
local options = require "kernelband.cli.options"
local run     = require "kernelband.store.run"
local schema  = require "kernelband.base.schema"

local usage = "kernelband resume RUN [--steps N] [--minutes M] [--usd X] [--tokens N] "
              .. "[--force] [--script FILE] [--progress auto|always|never|json]"

local amounts = { "steps", "minutes", "usd", "tokens" }

-- What stands in place of the script's budget; nil when nothing was said.
local function budget_of(opt)
  local out
  for _, name in ipairs(amounts) do
    local word = opt[name]
    if word then
      local n = tonumber(word)
      n = n and math.tointeger(n) or n
      local fits = n and n >= 0 and n == n and n < math.huge
      if (name == "steps" or name == "tokens") and math.type(n) ~= "integer" then fits = false end
      if not fits then
        schema.raise("kernelband: --%s: expected a number, got '%s'\nusage: %s", name, word,
                     usage)
      end
      out = out or {}
      out[name] = n
    end
  end
  return out
end

local function script_of(opt, experiment, folder)
  local file = opt.script or experiment.script
  if not file then
    schema.raise("kernelband: %s was not started from a script file; name one with --script",
                 folder)
  end
  local real = core.system.exists(file) == "file" and core.system.realpath(file)
  -- What came with the folder may be anybody's: it is run when somebody says so.
  local own = real and real:sub(1, #folder + 1) == folder .. "/"
  if real and (opt.script or not own) then return real end
  local kept = own and real or folder .. "/script.lua"
  schema.raise("kernelband: %s%s", own and "its script lies in the run's own folder"
    or "there is no script " .. file,
    core.system.exists(kept) == "file" and ("; what it said is in %s: read it, then run "
      .. "kernelband resume %s --script %s"):format(kept, folder, kept) or "")
end

local opts = {
  { "steps", "N", doc = "a new budget of pulls" },
  { "minutes", "M", doc = "a new budget of time" },
  { "usd", "X", doc = "a new budget of money" },
  { "tokens", "N", doc = "a new budget of tokens" },
  { "force", doc = "go on though task, policy or strategies changed" },
  { "script", "FILE", file = true, doc = "the script, where it is elsewhere now" },
  { "progress", "HOW", one_of = { "auto", "always", "never", "json" },
    doc = "auto, always, never or json" },
}

local function resume(args)
  local opt, rest = options.parse(args, { usage = usage, options = opts, least = 0, most = 1 })
  local folder = rest[1]
  if not folder then schema.raise("kernelband: which run folder?\nusage: %s", usage) end
  local experiment, why = run.experiment(folder)
  if not experiment then schema.raise("kernelband: %s", why) end
  folder = core.system.realpath(folder)
  local script = script_of(opt, experiment, folder)
  run.resuming { folder = folder, force = opt.force, budget = budget_of(opt),
                 out = experiment.options and experiment.options.out }
  -- Its script may name files from where it was started.
  local here = core.system.realpath "."
  if here ~= experiment.directory and not core.system.chdir(experiment.directory) then
    io.stderr:write(("kernelband: the folder %s, where the run was started, is gone; going on "
                     .. "from here\n"):format(experiment.directory))
  end
  require("kernelband.search.progress").mode(opt.progress)
  local words = table.move(experiment.args or {}, 1, #(experiment.args or {}), 2, { script })
  local code = require("kernelband.cli.run").start(words)
  if not run.resuming().met then
    schema.raise("kernelband: the script %s ran, but no search of it writes to %s", script,
                 folder)
  end
  return code
end

return {
  summary = "goes on with a run that was stopped",
  usage = usage, options = opts, folders = true,
  help = [[
RUN is the folder a search wrote to (its `out`). The script that started it is
run again with the same arguments, in the folder it was started in; its recorded
pulls are replayed from the journal, and the search goes on where it stopped.
  --steps N ..    a budget in place of the script's: a finished run goes on too
  --force         go on though task, policy or strategies changed; the journal
                  says so
  --script FILE   in place of the script it was started with]],
  run = resume,
}
