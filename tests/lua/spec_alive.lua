-- Every parameter of every shipped policy does something: changed by a factor of two at most,
-- or to a neighbouring value, it leads to other choices in the first 40 pulls, for 3 of 10
-- seeds at least, in one of three worlds: a synthetic task that lists no moves, whose searches
-- take least, a recorded space of which one child is drawn, a recorded space all of whose moves
-- are listed, with a memory of another. alpha, clusters and c of the default policy do so in
-- all three. memory and remember name files and are exempt.
package.path = "tests/lib/?.lua;" .. package.path
local t     = require "harness"
local kb    = require "kernelband"
local lists = require "kernelband.base.lists"
local path  = require "kernelband.base.path"

local dir = t.folder()
local traces = "examples/traces/"
local memory = dir .. "/memory.json"

local drawn  = kb.trace(traces .. "matmul-cpu.jsonl.gz")
local listed = kb.trace(traces .. "softmax-h200.jsonl.gz", { draws = "all", anew = true })
local other  = kb.trace(traces .. "rmsnorm-h200.jsonl.gz")

for seed = 1, 3 do
  kb.search { task = other, seed = seed, budget = { steps = 40 }, confirm = false,
              policy = kb.policy("policies/kernelband.lua", { remember = memory }) }
end

local worlds = { function(seed) return kb.synthetic { seed = seed } end,
                 function() return drawn end,
                 function() return listed end }

-- Parents, strategies and outcomes of 40 pulls. usual: those of another search; nil when this one
-- has another pull, after which it does not go on.
local function choices(file, params, world, seed, usual)
  local out, differs = {}, false
  local function on_pull(p)
    local child = p.child or {}
    local text = ("%d %s %s"):format(p.parent.id, p.strategy_name, child.speedup or p.verdict)
    differs = usual and text ~= usual[#out + 1]
    if differs then error "another pull" end
    out[#out + 1] = text
  end
  local done, why = pcall(kb.search, { task = worlds[world](seed), seed = seed,
    budget = { steps = 40 }, policy = kb.policy(file, params), confirm = false,
    on_pull = on_pull })
  if not done and not differs then error(why, 0) end
  return done and (not usual or #out == #usual) and out or nil
end

-- The values that count as near a default.
local function neighbours(v, limits)
  local out, least, most = {}, nil, nil
  for _, l in ipairs(limits or {}) do
    if type(l) == "number" then
      if least then most = l else least = l end
    end
  end
  local function add(x)
    if x ~= v and x >= (least or x) and x <= (most or x) then out[#out + 1] = x end
  end
  if type(v) == "boolean" then
    out[1] = not v
  elseif math.type(v) == "integer" then
    add(v * 2) add((v + 1) // 2) add(v + 1) add(v - 1)
  elseif type(v) == "number" then
    add(v * 2) add(v / 2)
    if v == 0 then add(0.1) end
  elseif type(v) == "table" then
    out[1] = table.move(v, 1, #v - 1, 1, {})
    out[2] = {}
  else
    for _, l in ipairs(limits or {}) do
      if type(l) == "string" and l ~= v then out[#out + 1] = l end
    end
    for _, x in ipairs { 1, 2, 3 } do
      if least then add(x) end
    end
  end
  return out
end

local usual = {}                        -- choices with the defaults

local function differing(file, memo, name, value, world)
  local with = world == 3 and memo or {}
  local params = lists.with(with, { [name] = value })
  local count = 0
  for seed = 1, 10 do
    local key = ("%s %d %d"):format(file, world, seed)
    usual[key] = usual[key] or choices(file, with, world, seed)
    if not choices(file, params, world, seed, usual[key]) then count = count + 1 end
    if count == 3 or count + 10 - seed < 3 then break end
  end
  return count >= 3
end

local function alive(file, memo, name, values, world)
  for _, v in ipairs(values) do
    if differing(file, memo, name, v, world) then return true end
  end
  return false
end

-- Those of the published versions that do not, yet.
local known = { ["kernelband_v1.buffer"] = true, ["kernelband_v2.start_mean"] = true,
                ["kernelband_v2.start_pulls"] = true }

local everywhere = { alpha = true, clusters = true, c = true }

for _, file in ipairs(assert(path.files("policies", ".lua"))) do
  local def = dofile(file)
  local names = {}
  for name in pairs(def.defaults) do names[#names + 1] = name end
  table.sort(names)
  local memo = def.defaults.memory and { memory = memory } or {}
  for _, name in ipairs(names) do
    if name ~= "memory" and name ~= "remember" and not known[def.name .. "." .. name] then
      t.test(("%s: %s does something"):format(def.name, name), function()
        local values = neighbours(def.defaults[name], def.limits and def.limits[name])
        local found = {}
        local here = def.name == "kernelband" and everywhere[name]
        for world = 1, 3 do
          found[#found + 1] = alive(file, memo, name, values, world) and world or nil
          if found[1] and not here then break end
        end
        assert(#found >= (here and 3 or 1),
               "it matters in worlds { " .. table.concat(found, " ") .. " } alone")
      end)
    end
  end
end

t.finish()
