-- task/tune.lua - constants a candidate leaves open:
--
--   // kb: tune BX 64 128 256
--
-- says that the macro BX is one of these integers. The engine defines it; the
-- first value is the one the candidate starts with.
--
--   tune.parse(source)           -> { { name = "BX", values = { 64, 128, 256 } }, .. }
--                                   or nil and what is wrong with a line
--   tune.apply(source, { BX = 128 })  -> the source with `#define BX 128` in the
--                                   place of that line; names not given get their
--                                   first value
--   tune.point(parameters)       -> { BX = 64, .. }, every first value
--
-- The lines are a stranger's: at most 8 names of 16 values each.
local with = require("kernelband.base.lists").with

local tune = {}

local limits = { names = 8, values = 16, magnitude = 1 << 40, chars = 64, source_bytes = 4 << 20 }

local mark = "^[ \t]*//[ \t]*kb:[ \t]*tune[ \t]*(.-)[ \t\r]*$"

-- What a line says of a constant; nil: nothing.
local function declaration(line) return #line < 2048 and line:match(mark) or nil end

-- The constant that a declaration's words give | nil, what is wrong with them.
local function read(text)
  local words, values, seen = text:gmatch "[^ \t,]+", {}, {}
  local name = words()
  if not name then return nil, "it names nothing; write // kb: tune NAME value value .." end
  if #name > limits.chars or not name:match "^[%a_][%w_]*$" then
    return nil, ("'%s' is no name of a macro"):format(name:sub(1, 20))
  end
  for word in words do
    local v = #word <= 14 and word:match "^%-?%d+$" and math.tointeger(tonumber(word))
    if not v or math.abs(v) > limits.magnitude then
      return nil, ("%s: '%s' is no integer within %d"):format(name, word:sub(1, 20),
                                                              limits.magnitude)
    end
    if not seen[v] then seen[v], values[#values + 1] = true, v end
  end
  if #values == 0 then return nil, name .. " has no value" end
  if #values > limits.values then
    return nil, ("%s has more than %d values"):format(name, limits.values)
  end
  return { name = name, values = values }
end

function tune.parse(source)
  if #source > limits.source_bytes then return nil, "the source is too large" end
  local out, known, n = {}, {}, 0
  if not source:find("tune", 1, true) then return out end
  for line in (source .. "\n"):gmatch "([^\n]*)\n" do
    n = n + 1
    local text = declaration(line)
    if text then
      local p, why = read(text)
      if p and known[p.name] then why = p.name .. " is declared twice" end
      if p and #out == limits.names then why = ("more than %d names"):format(limits.names) end
      if why then
        return nil, ("line %d: kb: tune: %s"):format(n, (why:gsub("[^\x20-\x7e]", "?")))
      end
      known[p.name], out[#out + 1] = true, p
    end
  end
  return out
end

function tune.point(parameters)
  local point = {}
  for _, p in ipairs(parameters) do point[p.name] = p.values[1] end
  return point
end

-- Lines keep their numbers, so that a compiler's words fit the source as written.
function tune.apply(source, point)
  local parameters, why = tune.parse(source)
  if not parameters then return nil, why end
  local values = with(tune.point(parameters), point)
  return (source:gsub("[^\n]+", function(line)
    local text = declaration(line)
    local name = text and text:match "[^ \t,]+"
    return name and ("#define %s %d"):format(name, values[name])
  end))
end

return tune
