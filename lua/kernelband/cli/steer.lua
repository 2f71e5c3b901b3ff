-- kernelband steer RUN .. - a word to a search that is running, or will go on.
local core   = require "kernelband.core"
local run    = require "kernelband.store.run"
local schema = require "kernelband.base.schema"
local steer  = require "kernelband.search.steer"

local usage = "kernelband steer RUN pause|continue|stop|veto STRATEGY|allow STRATEGY|"
              .. "pin KERNEL|pin none|hint TEXT"

-- What the search would refuse is told here, where somebody reads it.
local function check(folder, command, argument)
  local reader = run.reader(folder)
  local names = {}
  for name in (reader:experiment().identity.strategies or ""):gmatch "%S+" do
    names[#names + 1] = name
    names[name] = true
  end
  local kernel = command == "pin" and argument ~= "none"
    and #reader:rows("SELECT id FROM kernels WHERE id = ?", argument) == 0
  reader:close()
  if (command == "veto" or command == "allow") and not names[argument] then
    schema.raise("kernelband: %s has no strategy '%s'%s: %s", folder, argument,
                 schema.hint(argument, names), table.concat(names, ", "))
  elseif kernel then
    schema.raise("kernelband: %s has no kernel %d", folder, argument)
  end
end

local function is_running(folder)
  local lock = core.system.lock(folder .. "/lock")
  if lock then lock:close() end
  return not lock
end

local function say(args)
  local folder = args[1]
  if not folder or not args[2] or folder:sub(1, 1) == "-" then
    schema.raise("kernelband: steer what, and how?\nusage: %s", usage)
  end
  local text = table.concat(args, " ", 2)
  local command, argument = steer.parse(text)
  if not command then
    schema.raise("kernelband: %s%s\nusage: %s", argument, schema.hint(args[2], steer.words), usage)
  end
  local experiment, why = run.experiment(folder)
  if not experiment then schema.raise("kernelband: %s", why) end
  check(folder, command, argument)
  local running = is_running(folder)
  if not running and (command == "stop" or command == "pause" or command == "continue") then
    schema.raise("kernelband: no search is writing to %s now; it is %s. kernelband resume %s "
      .. "goes on with it", folder, experiment.state, folder)
  end
  local db = assert(core.store(folder .. "/run.db"))
  local ok
  ok, why = db:exec("INSERT INTO events VALUES (NULL, 0.0, 'asked', ?)", text)
  db:close()
  if not ok then error(why, 0) end
  io.stderr:write(running and "the search heeds it within a second\n"
                  or "no search is running; it will be heeded when the run goes on\n")
  return 0
end

return {
  summary = "says something to a running search",
  usage = usage, folders = true,
  help = [[
RUN is the folder the search writes to. What is said is kept in its journal, so a
replay heeds it at the same pull.
  pause, continue   no pull is started while it rests
  stop              ends in good order; kernelband resume RUN goes on
  veto, allow       a strategy is not used, or again
  pin KERNEL        every child is made of this kernel (its number); pin none
  hint TEXT         goes into the generator's prompts from then on]],
  script = true,
  run = say,
}
