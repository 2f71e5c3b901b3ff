-- triton/tunables.lua - the meta-parameters of a Triton source as a schedule: block
-- sizes, num_warps and num_stages at launch sites, in defaults, in constants that go
-- to launches and in autotune configurations. worker/tunables.py finds them by Python's own
-- parser; here values are put in their places.
--
--   schedule = tunables.schedule(source, interpreter, file)  -> a table as schedule.lua's,
--              or nil, why
--
-- A parameter is called by its kind and number, tile1 warps2 stages1 group1, so that
-- strategies can own it; label says what it is in the source.
local json   = require "kernelband.base.json"
local python = require "kernelband.triton.python"

local tunables = {}

local kinds = { tile = 12, warps = 6, stages = 6, group = 4 }

local function number(v) return math.tointeger(v) end

-- Sites hold bytes of the source, from 0, in no particular order.
local function read(found, source)
  local parameters, sites, seen = {}, {}, {}
  for _, f in ipairs(found) do
    local most = type(f) == "table" and kinds[f.kind]
    local n = most and (seen[f.kind] or 0) + 1
    if most and n <= most and type(f.values) == "table" and #f.values > 1 then
      seen[f.kind] = n
      local p = { f.kind .. n, {}, label = tostring(f.name) }
      for i, v in ipairs(f.values) do p[2][i] = number(v) or 0 end
      parameters[#parameters + 1] = p
      for _, s in ipairs(f.sites) do
        local first, last = number(s[1]), number(s[2])
        if not first or not last or first < 0 or last < first or last > #source then
          return nil, "a place outside the source"
        end
        sites[#sites + 1] = { first = first, last = last, text = tostring(s[3]), name = p[1] }
      end
    end
  end
  table.sort(sites, function(a, b)
    if a.first ~= b.first then return a.first < b.first end
    return a.name < b.name
  end)
  return parameters, sites
end

-- 0 is "as the source has it": nothing is written.
local function emitter(source, sites)
  return function(p)
    local out, at = {}, 1
    for _, s in ipairs(sites) do
      out[#out + 1] = source:sub(at, s.first)
      if p[s.name] ~= 0 then
        out[#out + 1] = (s.text:gsub("%%d", tostring(p[s.name])))
        at = s.last + 1
      else
        at = s.first + 1
      end
    end
    out[#out + 1] = source:sub(at)
    return table.concat(out)
  end
end

function tunables.schedule(source, interpreter, file)
  local name, wanted = python.name(interpreter)
  if not name then
    return nil, ("there is no %s to read its Triton with: set KERNELBAND_PYTHON"):format(wanted)
  end
  local text, why = python.run({ name, python.worker(), "tunables" }, source)
  if not text then return nil, why end
  local found = json.table(text)
  if not found then return nil, "its answer is no JSON" end
  if found.error then return nil, "the source is no Python: " .. tostring(found.error) end
  local parameters, sites = read(found, source)
  if not parameters then return nil, sites end
  if #parameters == 0 then return nil, "it has no meta-parameter to vary" end
  return { parameters = parameters, valid = function() return true end,
           emit = emitter(source, sites), file = file }
end

return tunables
