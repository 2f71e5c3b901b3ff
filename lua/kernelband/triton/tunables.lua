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
local python = require "kernelband.triton.python"

local tunables = {}

local most = { tile = 12, warps = 6, stages = 6, group = 4 }

-- found: the worker's, see its tunables.py. Sites hold bytes of the source, from 0.
local function read(found)
  local parameters, sites, seen = {}, {}, {}
  for _, f in ipairs(found) do
    local n = (seen[f.kind] or 0) + 1
    if n <= most[f.kind] and #f.values > 1 then
      local name = f.kind .. n
      seen[f.kind] = n
      parameters[#parameters + 1] = { name, f.values, label = f.name }
      for _, s in ipairs(f.sites) do
        sites[#sites + 1] = { first = s[1], last = s[2], text = s[3], name = name }
      end
    end
  end
  table.sort(sites, function(a, b)
    if a.first ~= b.first then return a.first < b.first end
    return a.name < b.name
  end)
  return parameters, sites
end

-- From the last site to the first, which leaves the places of those before. 0 is "as the source
-- has it": nothing is written.
local function emitter(source, sites)
  return function(p)
    local out = source
    for i = #sites, 1, -1 do
      local s, value = sites[i], p[sites[i].name]
      local text = s.text:gsub("%%d", tostring(value))
      if value ~= 0 then out = out:sub(1, s.first) .. text .. out:sub(s.last + 1) end
    end
    return out
  end
end

function tunables.schedule(source, interpreter, file)
  local found, why = python.ask(interpreter, "tunables", source,
                                " to read its Triton with: set KERNELBAND_PYTHON")
  if not found then return nil, why end
  if found.error then return nil, "the source is no Python: " .. tostring(found.error) end
  local parameters, sites = read(found)
  if #parameters == 0 then return nil, "it has no meta-parameter to vary" end
  return { parameters = parameters, valid = function() return true end,
           emit = emitter(source, sites), file = file }
end

return tunables
