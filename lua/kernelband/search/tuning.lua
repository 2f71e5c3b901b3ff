-- search/tuning.lua - constants that a candidate leaves open:
--
--   // kb: tune BX 64 128 256
--
-- says that the macro BX is one of these integers. The engine defines it, and searches the
-- constants inside the candidate's own pull: one at a time from its first values, each time to
-- what is faster beyond doubt, until no single change helps or the evaluations are spent.
--
-- The lines are a stranger's: at most 8 names of 16 values each.

local lists  = require "kernelband.base.lists"
local text   = require "kernelband.base.text"

local tuning = {}

local limits = { names = 8, values = 16, magnitude = 1 << 40, chars = 64 }

local mark = "^[ \t]*//[ \t]*kb:[ \t]*tune[ \t]*(.-)[ \t\r]*$"

-- What a line says of a constant; nil: nothing.
local function declaration(line) return #line < 2048 and line:match(mark) or nil end

-- A word as a value of a constant, or nil.
local function value_of(word)
  local v = #word <= 14 and word:match "^%-?%d+$" and math.tointeger(tonumber(word))
  return v and math.abs(v) <= limits.magnitude and v or nil
end

-- The constant that a declaration's words give, beside those before it | nil, what is wrong.
local function read(said, before)
  local words = lists.words(said, "[^ \t,]+")
  local name = table.remove(words, 1)
  local values = lists.distinct(lists.collect(words, value_of))
  local other = lists.find(words, function(word) return not value_of(word) end)
  local wrong = not name and "it names nothing; write // kb: tune NAME value value .."
    or (#name > limits.chars or not name:match "^[%a_][%w_]*$")
       and ("'%s' is no name of a macro"):format(name:sub(1, 20))
    or other and ("%s: '%s' is no integer within %d"):format(name, other:sub(1, 20),
                                                             limits.magnitude)
    or #values == 0 and name .. " has no value"
    or #values > limits.values and ("%s has more than %d values"):format(name, limits.values)
    or #before == limits.names and ("more than %d names"):format(limits.names)
    or lists.contains(lists.collect(before, "name"), name) and name .. " is declared twice"
  if wrong then return nil, wrong end
  return { name = name, values = values }
end

-- The constants that a source declares, a list of { name =, values = } | nil, what is wrong with
-- a line.
function tuning.parse(source)
  local out = {}
  for n, line in ipairs(text.lines(source)) do
    local said, why = declaration(line), nil
    if said then out[#out + 1], why = read(said, out) end
    if why then
      return nil, ("line %d: kb: tune: %s"):format(n, (why:gsub("[^\x20-\x7e]", "?")))
    end
  end
  return out
end

-- A candidate that declares constants, with these values of them: each is defined in the place of
-- its line, so that a compiler's words fit the source as written.
local function with(candidate, values)
  local source = candidate.declared:gsub("[^\n]+", function(line)
    local name = (declaration(line) or ""):match "[^ \t,]+"
    return name and ("#define %s %d"):format(name, values[name])
  end)
  return lists.with(candidate, { source = source, params = values })
end

-- The candidate as it is evaluated first: with the first value of each. And what is wrong with a
-- line that declares one: without its constants the source is another than was meant.
function tuning.first(candidate)
  local tunables, why = tuning.parse(candidate.source)
  if not tunables or #tunables == 0 then return candidate, why end
  local values = {}
  for _, t in ipairs(tunables) do values[t.name] = t.values[1] end
  return with({ declared = candidate.source, tunables = tunables, origin = candidate.origin,
                by = candidate.by }, values)
end

local function low(attempt) return attempt.evaluation.speedup_low or attempt.evaluation.speedup end

-- first: an attempt that is ok. evaluate(candidate) -> attempt, nil: enough.
function tuning.descend(first, limit, evaluate)
  local best, done = first, { [first.candidate.source] = true }
  repeat
    local before = best
    for _, t in ipairs(first.candidate.tunables) do
      for _, value in ipairs(t.values) do
        local values = lists.with(best.candidate.params, { [t.name] = value })
        local candidate = with(best.candidate, values)
        if not done[candidate.source] then
          local a = limit > 0 and evaluate(candidate)
          if not a then return best end
          limit, done[candidate.source] = limit - 1, true
          if a.evaluation.verdict == "ok" and low(a) > low(best) then best = a end
        end
      end
    end
  until best == before
  return best
end

return tuning
