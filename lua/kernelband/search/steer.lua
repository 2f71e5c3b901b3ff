-- search/steer.lua - what people say to a running search (`kernelband steer RUN ..`):
--   pause | continue | stop | veto STRATEGY | allow STRATEGY | pin KERNEL | pin none
--   | hint TEXT
-- Said at some moment, it is part of the run's history from then on: the journal
-- keeps it with how many pulls had been recorded and chosen, and a replay obeys it
-- when as many have.

local collect = require("kernelband.base.lists").collect
local schema = require "kernelband.base.schema"

local steer = {}

local MAX_BYTES = 4096

local alone = { pause = true, continue = true, stop = true }
steer.words = { "pause", "continue", "stop", "veto", "allow", "pin", "hint" }

-- command, argument | nil, what is wrong
function steer.parse(text)
  local command, argument = text:match "^%s*(%a+)%s*(.-)%s*$"
  if not schema.contains(steer.words, command) then
    return nil, ("'%s' is no command"):format(command or text)
  end
  if #argument > MAX_BYTES then
    return nil, ("%s: %d bytes are too many, %d are read"):format(command, #argument, MAX_BYTES)
  end
  if alone[command] and argument ~= "" then
    return nil, ("%s stands alone, got '%s'"):format(command, argument)
  elseif not alone[command] and argument == "" then
    return nil, command .. " needs a word more"
  end
  if command == "pin" and argument ~= "none" then
    local id = math.tointeger(tonumber(argument))
    if not id or id < 1 then return nil, "pin: expected a kernel's number, or none" end
    return command, id
  end
  return command, argument
end

local act = {}

function act.pause(s) s.paused = not s.old end
function act.continue(s) s.paused = false end
function act.hint(s, text) s.hints[#s.hints + 1] = text end
local function narrow(s) s.narrows = next(s.vetoed) ~= nil or s.pinned ~= nil end

function act.veto(s, name) s.vetoed[name] = true narrow(s) end
function act.allow(s, name) s.vetoed[name] = nil narrow(s) end
function act.pin(s, id) s.pinned = id ~= "none" and id or nil narrow(s) end
function act.stop() end

-- What cannot be done, in words; nil when it can.
local function objection(s, command, argument)
  if (command == "veto" or command == "allow") and not s.index[argument] then
    return ("there is no strategy '%s'"):format(argument)
  elseif command == "pin" and argument ~= "none" and not s.pool[argument] then
    return ("there is no kernel %d"):format(argument)
  end
end

-- s: the search. Returns
--   hints, paused
--   open(kernel, name)   whether steering leaves this pair open
--   narrows      whether there is any that it does not
--   look()       does what is due; true when a stop was asked for
--   unpause()    what was said before the run was resumed keeps it paused no longer
function steer.new(s)
  local steering = { hints = {}, vetoed = {}, paused = false }
  local journal, at = s.journal, 1
  local due = collect(journal.steers, function(row)
    local text, landed, chosen = row.text:match "^(.*) @ (%d+) (%d+)$"
    return { text = text or "", landed = tonumber(landed) or 0, chosen = tonumber(chosen) or 0 }
  end)

  function steering.open(kernel, name)
    return not steering.vetoed[name] and (not steering.pinned or kernel.id == steering.pinned)
  end

  local function replay()
    steering.old = steering.resumed     -- a pause of a run that was ended since
    while due[at] and s.history.landed >= due[at].landed and s.flights.chosen >= due[at].chosen do
      local command, argument = steer.parse(due[at].text)
      if command and not objection(s, command, argument) then act[command](steering, argument) end
      at = at + 1
    end
    steering.old = false
  end

  local function obey(row)
    local command, argument = steer.parse(row.text)
    local why = not command and argument or objection(s, command, argument)
    if why then
      s.view.note(("steer %s: %s"):format(row.text, why))
      return journal.steered(row.id, ("refused %s: %s"):format(row.text, why))
    end
    journal.steered(row.id, ("%s @ %d %d"):format(row.text, s.history.landed, s.flights.chosen))
    s.view.note("steered: " .. row.text)
    act[command](steering, argument)
    return command == "stop"
  end

  function steering.look()
    if at <= #due then replay() end
    local stop = false
    if not s.replaying() then
      for _, row in ipairs(journal.asked() or {}) do stop = obey(row) or stop end
    end
    return stop
  end

  function steering.unpause()
    if steering.resumed then return end
    steering.resumed = true
    if not steering.paused then return end
    steering.paused = false
    journal.event("steer", ("continue @ %d %d"):format(s.history.landed, s.flights.chosen))
  end

  return steering
end

return steer
