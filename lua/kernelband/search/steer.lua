-- search/steer.lua - what people say to a running search (`kernelband steer RUN ..`):
--   pause | continue | stop | veto STRATEGY | allow STRATEGY | pin KERNEL | pin none
--   | hint TEXT
-- Said at some moment, it is part of the run's history from then on: the journal
-- keeps it with how many pulls had been recorded and chosen, and a replay obeys it
-- when as many have.

local lists   = require "kernelband.base.lists"

local steer = {}

local MAX_BYTES = 4096

local alone = lists.places { "pause", "continue", "stop" }
steer.words = { "pause", "continue", "stop", "veto", "allow", "pin", "hint" }

-- command, argument | nil, what is wrong
function steer.parse(text)
  local command, argument = text:match "^%s*(%a+)%s*(.-)%s*$"
  local id = command == "pin" and math.tointeger(tonumber(argument))
  local wrong = not lists.contains(steer.words, command)
                and ("'%s' is no command"):format(command or text)
    or #argument > MAX_BYTES
       and ("%s: %d bytes are too many, %d are read"):format(command, #argument, MAX_BYTES)
    or alone[command] and argument ~= "" and ("%s stands alone, got '%s'"):format(command, argument)
    or not alone[command] and argument == "" and command .. " needs a word more"
    or command == "pin" and argument ~= "none" and (id or 0) < 1
       and "pin: expected a kernel's number, or none"
  if wrong then return nil, wrong end
  return command, id or argument
end

-- What a command does to the steering of a search.
local act = {
  pause = function(s) s.paused = true end,
  continue = function(s) s.paused = false end,
  stop = function() end,
  hint = function(s, text) table.insert(s.hints, text) end,
  veto = function(s, name) s.vetoed[name] = true end,
  allow = function(s, name) s.vetoed[name] = nil end,
  pin = function(s, id) s.pinned = id ~= "none" and id or nil end,
}

-- What a text says to search s: command, argument | nil, why it cannot be done.
local function understood(s, text)
  local command, argument = steer.parse(text)
  if (command == "veto" or command == "allow") and not s.index[argument] then
    return nil, ("there is no strategy '%s'"):format(argument)
  elseif command == "pin" and argument ~= "none" and not s.pool[argument] then
    return nil, ("there is no kernel %d"):format(argument)
  end
  return command, argument
end

-- s: the search. Returns
--   hints, paused
--   open(kernel, name)   whether steering leaves this pair open
--   narrows()    whether there may be any that it does not
--   look()       does what is due; true when a stop was asked for
--   unpause()    what was said before the run was resumed keeps it paused no longer
function steer.new(s)
  local steering = { hints = {}, vetoed = {}, paused = false }
  local journal = s.journal
  local due = lists.collect(journal.steers, function(row)
    local text, landed, chosen = row.text:match "^(.*) @ (%d+) (%d+)$"
    return text and { text = text, landed = tonumber(landed), chosen = tonumber(chosen) }
  end)

  function steering.open(kernel, name)
    return not steering.vetoed[name] and (not steering.pinned or kernel.id == steering.pinned)
  end

  function steering.narrows() return next(steering.vetoed) or steering.pinned end

  -- What was said before the run was resumed, when as much had come to pass as then.
  local function replay()
    while due[1] and s.history.landed >= due[1].landed and s.flights.chosen >= due[1].chosen do
      local command, argument = understood(s, table.remove(due, 1).text)
      local ended = command == "pause" and steering.resumed       -- with the run as it was then
      if command and not ended then act[command](steering, argument) end
    end
  end

  local function moment() return ("@ %d %d"):format(s.history.landed, s.flights.chosen) end

  function steering.look()
    replay()
    local stop = false
    for _, row in ipairs(s.replaying() and {} or journal.asked()) do
      local command, argument = understood(s, row.text)
      if command then
        journal.steered(row.id, row.text .. " " .. moment())
        s.note("steered: " .. row.text)
        act[command](steering, argument)
        stop = stop or command == "stop"
      else
        s.note(("steer %s: %s"):format(row.text, argument))
        journal.steered(row.id, ("refused %s: %s"):format(row.text, argument))
      end
    end
    return stop
  end

  function steering.unpause()
    if steering.resumed then return end
    steering.resumed = true
    if not steering.paused then return end
    steering.paused = false
    journal.event("steer", "continue " .. moment())
  end

  return steering
end

return steer
