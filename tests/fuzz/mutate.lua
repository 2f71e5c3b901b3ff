-- mutate.lua - what the fuzzers of text share: seeds from a corpus folder, seeded
-- mutations, a clock.
--
--   m = mutate.new { corpus = "fuzz_plan", words = { .. }, seed = n }
--   for text in m.texts(most) do .. end      until the time given is over
-- The time: the script's first argument, else $SECONDS, else 2.
local core = require "kernelband.core"

local mutate = {}

local folder = (arg[0]:match "^(.*)/" or ".") .. "/corpus/"

function mutate.seconds() return tonumber(arg[1] or os.getenv "SECONDS" or "") or 2 end

local function one_change(rng, words, s)
  local at = rng:below(#s + 1)
  local kind = rng:below(5)
  if kind == 0 then                                     -- a word goes in
    return s:sub(1, at) .. words[1 + rng:below(#words)] .. s:sub(at + 1)
  elseif kind == 1 then                                 -- a piece goes
    return s:sub(1, at) .. s:sub(at + 1 + rng:below(12))
  elseif kind == 2 then                                 -- a byte changes
    return s:sub(1, at) .. string.char(rng:below(256)) .. s:sub(at + 2)
  elseif kind == 3 then                                 -- a piece again, elsewhere
    local from = rng:below(#s + 1)
    return s:sub(1, at) .. s:sub(from, from + rng:below(60)) .. s:sub(at + 1)
  end                                                   -- a piece many times
  return s:sub(1, at) .. s:sub(at + 1, at + 1 + rng:below(4)):rep(rng:below(200)) .. s:sub(at + 1)
end

function mutate.new(how)
  local rng, seeds = core.rng(how.seed), {}
  for _, name in ipairs(assert(core.system.list(folder .. how.corpus))) do
    seeds[#seeds + 1] = assert(core.system.read_file(folder .. how.corpus .. "/" .. name))
  end
  local m = { rng = rng, tried = 0 }
  function m.texts()
    local stop = core.system.now_ns() + math.floor(mutate.seconds() * 1e9)
    return function()
      if core.system.now_ns() >= stop or m.tried >= 10 ^ 7 then return nil end
      m.tried = m.tried + 1
      local text = seeds[1 + (m.tried - 1) % #seeds]
      if m.tried <= #seeds then return text end
      for _ = 1, 1 + rng:below(how.changes or 6) do text = one_change(rng, how.words, text) end
      return text
    end
  end
  return m
end

return mutate
