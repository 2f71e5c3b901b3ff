-- remarks.lua - what a compiler told of the loops it vectorised and of those it did not, as
-- a few lines "line 15: not vectorised: ..". gcc: -fopt-info-vec-optimized-missed; clang:
-- -Rpass=loop-vectorize and the like. Names of the candidate's stand in them: data, not words.
local cut = require("kernelband.base.text").cut

local remarks = {}

local most <const> = 6
local most_bytes <const> = 110

-- text: all of it, or nil. A list of lines, or nil.
function remarks.read(text)
  local out, said, missed = {}, {}, nil
  local function say(at, what)
    if said[at] or #out == most then return end
    said[at] = true
    local line = ("line %s: %s"):format(at, what):gsub("[^\x20-\x7e]", "?")
    out[#out + 1] = cut(line, most_bytes, "...")
  end
  for line in (text or ""):gmatch "[^\n]+" do
    local at, kind, what = line:match "^kernel%.c:(%d+):%d+: (%a+): (.*)$"
    if kind == "remark" then            -- clang
      what = what:match "^(.*) %[%-Rpass[%a-]*=[%w-]*%]$"
      if what then
        say(at, what:gsub("^loop not vectorized", "not vectorised")
                    :gsub("^vectorized loop", "vectorised"))
      end
    elseif kind == "optimized" and what:find "^loop vectorized" then
      local bytes = what:match "using (%d+) byte vectors"
      say(at, bytes and ("vectorised, %s-byte vectors"):format(bytes) or "vectorised")
    elseif what == "couldn't vectorize loop" then
      missed = at                       -- the reason is on one of the lines that follow
    elseif kind == "missed" and missed then
      what = what:gsub("^not vectorized: ", "")
      if not what:find "^loop nest" then  -- an outer loop: its inner ones have lines of their own
        say(missed, "not vectorised: " .. what)
      end
      missed = nil
    end
  end
  return #out > 0 and out or nil
end

return remarks
