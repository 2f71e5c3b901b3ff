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
  for line in (text or ""):gmatch "[^\n]+" do
    local at, kind, what = line:match "^kernel%.c:(%d+):%d+: (%a+): (.*)$"
    local told
    if kind == "remark" then            -- clang
      told = what:match "^(.*) %[%-Rpass[%a-]*=[%w-]*%]$"
      told = told and told:gsub("^loop not vectorized", "not vectorised")
                          :gsub("^vectorized loop", "vectorised")
    elseif kind == "optimized" and what:find "^loop vectorized" then
      local bytes = what:match "using (%d+) byte vectors"
      told = bytes and ("vectorised, %s-byte vectors"):format(bytes) or "vectorised"
    elseif what == "couldn't vectorize loop" then
      missed = at                       -- the reason is on one of the lines that follow
    elseif kind == "missed" and missed then
      local reason = what:gsub("^not vectorized: ", "")
      -- A loop nest is an outer loop: its inner ones have lines of their own.
      told = not reason:find "^loop nest" and "not vectorised: " .. reason
      at, missed = missed, nil
    end
    if told and not said[at] and #out < most then
      said[at] = true
      told = ("line %s: %s"):format(at, told):gsub("[^\x20-\x7e]", "?")
      out[#out + 1] = cut(told, most_bytes, "...")
    end
  end
  return #out > 0 and out or nil
end

return remarks
