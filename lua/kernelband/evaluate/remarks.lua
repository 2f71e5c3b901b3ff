-- remarks.lua - what a compiler told of the loops it vectorised and of those it did not, as
-- a few lines "line 15: not vectorised: ..". gcc: -fopt-info-vec-optimized-missed; clang:
-- -Rpass=loop-vectorize and the like. Names of the candidate's stand in them: data, not words.
local remarks = {}

local most <const> = 6
local most_bytes <const> = 110

local function cut(text)
  text = text:gsub("[^\x20-\x7e]", "?")
  return #text > most_bytes and text:sub(1, most_bytes - 3) .. "..." or text
end

-- A loop that could not be vectorised, its reason on one of the lines that follow.
local function gcc(line, state)
  local at, kind, text = line:match "^kernel%.c:(%d+):%d+: (%a+): (.*)$"
  if not at then return end
  if kind == "optimized" and text:find "^loop vectorized" then
    local bytes = text:match "using (%d+) byte vectors"
    state.say(at, bytes and ("vectorised, %s-byte vectors"):format(bytes) or "vectorised")
  elseif text == "couldn't vectorize loop" then
    state.loop = at
  elseif kind == "missed" and state.loop then
    text = text:gsub("^not vectorized: ", "")
    if not text:find "^loop nest" then  -- an outer loop: its inner ones have lines of their own
      state.say(state.loop, "not vectorised: " .. text)
    end
    state.loop = nil
  end
end

local function clang(line, state)
  local at, text = line:match "^kernel%.c:(%d+):%d+: remark: (.*) %[%-Rpass[%a-]*=[%w-]*%]$"
  if not at then return end
  text = text:gsub("^loop not vectorized", "not vectorised"):gsub("^vectorized loop", "vectorised")
  state.say(at, text)
end

-- text: all of it, or nil. A list of lines, or nil.
function remarks.read(text)
  local out, said = {}, {}
  local state = {}
  function state.say(at, what)
    if said[at] or #out == most then return end
    said[at] = true
    out[#out + 1] = cut(("line %s: %s"):format(at, what))
  end
  for line in (text or ""):gmatch "[^\n]+" do
    gcc(line, state)
    clang(line, state)
  end
  return #out > 0 and out or nil
end

return remarks
