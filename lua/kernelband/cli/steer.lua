-- kernelband steer RUN .. - a command for a search that is running, or will be resumed.
local core    = require "kernelband.core"
local lists   = require "kernelband.base.lists"
local run     = require "kernelband.store.run"
local schema  = require "kernelband.base.schema"
local steer   = require "kernelband.search.steer"

-- Refuses what the search would refuse, where the user sees it.
local function check(folder, experiment, command, argument)
  if command == "veto" or command == "allow" then
    local names = lists.words(experiment.identity.strategies or "")
    if lists.contains(names, argument) then return end
    schema.raise("kernelband: %s has no strategy '%s'%s: %s", folder, argument,
                 schema.hint(argument, names), table.concat(names, ", "))
  elseif command == "pin" and argument ~= "none" then
    local reader <close> = run.reader(folder)
    if reader:rows("SELECT id FROM kernels WHERE id = ?", argument)[1] then return end
    schema.raise("kernelband: %s has no kernel %d", folder, argument)
  end
end

local function say(_, args, verb)
  local folder, text = args[1], table.concat(args, " ", 2)
  local command, argument = steer.parse(text)
  if not command then verb:misuse("%s%s", argument, schema.hint(args[2], steer.words)) end
  local experiment, why = run.experiment(folder)
  if not experiment then schema.raise("kernelband: %s", why) end
  check(folder, experiment, command, argument)
  local lock = core.system.lock(folder .. "/lock")     -- a search that is running holds it
  if lock then lock:close() end
  if lock and (command == "stop" or command == "pause" or command == "continue") then
    schema.raise("kernelband: no search is writing to %s now; it is %s. kernelband resume %s "
                 .. "goes on with it", folder, experiment.state, folder)
  end
  local db <close> = assert(core.store(folder .. "/run.db"))
  assert(db:exec("INSERT INTO events VALUES (NULL, 0.0, 'asked', ?)", text))
  io.stderr:write(lock and "no search is running; the run follows when it goes on\n"
                  or "the search follows within a second\n")
end

return { "steer", args = "RUN COMMAND", folders = true, script = true, run = say }
