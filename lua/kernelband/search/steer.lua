-- search/steer.lua - what people say to a running search (`kernelband steer RUN ..`):
--   pause | continue | stop | veto STRATEGY | allow STRATEGY | pin KERNEL | pin none
--   | hint TEXT
-- Said at some moment, it is part of the run's history from then on: the journal
-- keeps it with how many pulls had landed and been chosen, and a replay heeds it
-- when as many have.

local steer = {}

local MAX_BYTES = 4096

local alone = { pause = true, continue = true, stop = true }
local known = { pause = true, continue = true, stop = true, veto = true, allow = true,
                pin = true, hint = true }
steer.words = { "pause", "continue", "stop", "veto", "allow", "pin", "hint" }

-- command, argument | nil, what is wrong
function steer.parse(text)
  local command, argument = text:match "^%s*(%a+)%s*(.-)%s*$"
  if not known[command] then return nil, ("'%s' is no command"):format(command or text) end
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
local function objection(S, command, argument)
  if (command == "veto" or command == "allow") and not S.index[argument] then
    return ("there is no strategy '%s'"):format(argument)
  elseif command == "pin" and argument ~= "none" and not S.pool[argument] then
    return ("there is no kernel %d"):format(argument)
  end
end

-- S: the search (steps chosen and landed, pool, index, journal, progress). Returns
--   hints, paused
--   open(kernel, name)   whether steering leaves this pair open
--   narrows      whether there is any that it does not
--   look()               heeds what is due; true when a stop was asked for
--   free()               from here on things are said anew: a run gone on with does
--                        not stay paused
function steer.new(S)
  local s = { hints = {}, vetoed = {}, paused = false }
  local due, at = {}, 1

  for i, row in ipairs(S.journal.steers) do
    local text, landed, chosen = row.text:match "^(.*) @ (%d+) (%d+)$"
    due[i] = { text = text or "", landed = tonumber(landed) or 0,
               chosen = tonumber(chosen) or 0 }
  end

  function s.open(kernel, name)
    return not s.vetoed[name] and (not s.pinned or kernel.id == s.pinned)
  end

  local function recorded()
    s.old = s.freed                     -- a pause of a run that was ended since
    while due[at] and S.landed >= due[at].landed and S.chosen >= due[at].chosen do
      local command, argument = steer.parse(due[at].text)
      if command and not objection(S, command, argument) then act[command](s, argument) end
      at = at + 1
    end
    s.old = false
  end

  local function heed(row)
    local command, argument = steer.parse(row.text)
    local why = not command and argument or objection(S, command, argument)
    if why then
      S.progress.note(("steer %s: %s"):format(row.text, why))
      return S.journal.steered(row.id, ("refused %s: %s"):format(row.text, why))
    end
    S.journal.steered(row.id, ("%s @ %d %d"):format(row.text, S.landed, S.chosen))
    S.progress.note("steered: " .. row.text)
    act[command](s, argument)
    return command == "stop"
  end

  function s.look()
    if at <= #due then recorded() end
    local stop = false
    if not S.replaying() then
      for _, row in ipairs(S.journal.asked() or {}) do stop = heed(row) or stop end
    end
    return stop
  end

  function s.free()
    if s.freed then return end
    s.freed = true
    if not s.paused then return end
    s.paused = false
    S.journal.event("steer", ("continue @ %d %d"):format(S.landed, S.chosen))
  end

  return s
end

return steer
