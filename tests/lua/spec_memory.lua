-- This file tests lua/kernelband/policy/memory.lua and lua/kernelband/policy/transfer.lua, which
-- let a search use the results of earlier searches. It also tests policy parameters that are
-- functions of the pull number.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local kb = require "kernelband"
local memory = require "kernelband.policy.memory"
local run = require "kernelband.store.run"

local dir = t.folder()
local file = dir .. "/memory.json"

local function write(text) assert(core.system.write_file(file, text)) end

local function kernel(id, params, speedup)
  return { id = id, params = params, speedup = speedup, speedup_low = speedup,
    speedup_high = speedup, time_ns = 1e6 / speedup, h = {}, rho = { 0, 0, 0, 0, 0, 0 },
    phi = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, signature = { 0, 0, 0, 0, 0 } }
end

local function all(name, values)
  local out = {}
  for i, v in ipairs(values) do out[i] = { [name] = v } end
  return out
end

local lists = { all("BLOCK_X", { 8, 16, 32, 64, 128 }), all("BLOCK_X", { 8 }) }

local function started(params, name)
  return kb.policy("policies/kernelband.lua", params).new {
    strategies = { { name = "a", target = "sm" }, { name = "b", target = "sm" } },
    rng = core.rng(1), open = function() return true end, name = name or "one",
    moves = function(_, i) return lists[i], true end }
end

t.test("a search leaves its points, failures among them", function()
  local brain = started { remember = file }
  local first = kernel(1, { BLOCK_X = 8 }, 1)
  brain.admit(first)
  brain.learn { n = 1, parent = first, strategy = 1, verdict = "wrong", reward = -1, cost = {},
                params = { BLOCK_X = 128 } }
  brain.admit(kernel(2, { BLOCK_X = 64 }, 4))
  brain.finish()
  t.equal(memory.load(file), { { name = "one", points = {
    { params = { BLOCK_X = 8 }, time_ns = 1000000 }, { params = { BLOCK_X = 128 } },
    { params = { BLOCK_X = 64 }, time_ns = 250000 } } } })
end)

t.test("a kernel that was timed once more leaves its second time", function()
  local again = dir .. "/again.json"
  local brain = started { remember = again }
  brain.admit(kernel(1, { BLOCK_X = 8 }, 1))
  brain.admit(kernel(2, { BLOCK_X = 64 }, 4))
  brain.finish { { params = { BLOCK_X = 64 }, time_ns = 300000 } }
  t.equal(memory.load(again), { { name = "one", points = {
    { params = { BLOCK_X = 8 }, time_ns = 1000000 },
    { params = { BLOCK_X = 64 }, time_ns = 300000 } } } })
end)

t.test("a second search on another space is laid beside it, on the same one over it", function()
  local brain = started({ remember = file }, "two")
  brain.admit(kernel(1, { BLOCK_X = 16 }, 1))
  brain.finish()
  brain = started({ remember = file }, "one")
  brain.admit(kernel(1, { BLOCK_X = 64 }, 5))
  brain.finish()
  local spaces = memory.load(file)
  t.equal(#spaces, 2)
  t.equal(#spaces[1].points, 3)
  t.equal(spaces[1].points[3].time_ns, 200000)
end)

t.test("what is remembered of axes of the same name changes the forecast", function()
  local surrogate = require "kernelband.policy.surrogate"
  local function excess(remembered)
    local model = surrogate.new({}, function() return lists[1], true end, remembered)
    local k = kernel(1, { BLOCK_X = 8 }, 1)
    model.admit(k)
    return model.worth(k, 1)
  end
  local function space(sign)
    local points = {}
    for i, x in ipairs { 8, 16, 32, 64, 128 } do
      points[i] = { params = { use_block_x = x }, time_ns = 1e6 * 2.0 ^ (sign * i) }
    end
    return { { name = "other", points = points } }
  end
  assert(excess(space(-1)) > excess(nil), "larger was faster there")
  assert(excess(space(1)) < excess(nil), "larger was slower there")
  t.near(excess { { name = "none", points = { { params = { other = 1 }, time_ns = 1 } } } },
         excess(nil), 1e-12)
end)

t.test("a space that has few of the moving axes counts for nothing", function()
  local surrogate = require "kernelband.policy.surrogate"
  local moves = { all("x", { 1, 2, 4, 8 }), {} }
  for i, p in ipairs(moves[1]) do p.y, p.z, moves[2][i] = 1, 1, { x = 1, y = 2 ^ i, z = 2 ^ i } end
  local function excess(names)
    local points = {}
    for i, v in ipairs { 1, 2, 4, 8 } do
      points[i] = { params = {}, time_ns = 1e6 / 2.0 ^ i }
      for _, name in ipairs(names) do points[i].params[name] = v end
    end
    local model = surrogate.new({}, function(_, i) return moves[i], true end,
                               { { name = "other", points = points } }, 2)
    local k = kernel(1, { x = 1, y = 1, z = 1 }, 1)
    model.admit(k)
    return model.worth(k, 1)
  end
  local none, one, two, three = excess { "w" }, excess { "x" }, excess { "x", "y" },
                                excess { "x", "y", "z" }
  t.near(one, none, 1e-12)
  t.near(two, none, 1e-12)
  assert(three > none, "one that has them all counts")
end)

-- What a remembered space that is faster by 2 for each doubling of BLOCK_X counts for after
-- points of a search in which a doubling gives `factor`.
local function weight_after(factor, count)
  local transfer, gp = require "kernelband.policy.transfer", core.gp
  local points, own = {}, {}
  for i = 1, 5 do
    points[i] = { params = { BLOCK_X = 2 ^ (i + 2) }, time_ns = 1e6 / 2.0 ^ i }
  end
  local function encode(p) return { math.log(p.block_x, 2) } end
  local remembered = { { name = "other", points = points } }
  local space = transfer.spaces(remembered, { "block_x" }, { true }, { block_x = 8 }, encode)[1]
  local first = space.weight
  for i = 1, count do own[i] = { x = { i + 2 }, y = i * math.log(factor) } end
  transfer.weigh(space, own, 0.9, function()
    return gp({ 0.3 }, { signal = 1, noise = 0.05, level = 1, mean = 0.2, correlation = 0.9 })
  end, function() end)
  return space.weight, first
end

t.test("a memory that forecasts badly loses its weight, one that does well gains", function()
  local good, first = weight_after(2, 4)
  local bad = weight_after(0.5, 4)
  assert(good > first and first > 0.5, good)
  assert(bad < 0.1, bad)
  assert(weight_after(0.5, 2) < first, "after two points already")
end)

t.test("a search with a wrong memory ends where one without ends", function()
  local surrogate = require "kernelband.policy.surrogate"
  local values, points = {}, {}
  for i = 0, 23 do values[i + 1] = { x = 2 ^ (i % 6), y = 2 ^ (i // 6) } end
  for i, p in ipairs(values) do         -- slower where it is faster here
    points[i] = { params = p, time_ns = 1e6 * p.x ^ 0.5 * p.y ^ 0.5 }
  end
  local function found(remembered)
    local model = surrogate.new({}, function() return values, true end, remembered, 1)
    local root, best = kernel(1, values[1], 1), 1
    model.admit(root)
    for n = 2, 12 do
      model.worth(root, 1, {})
      local p = values[model.prefer(values)]
      local speedup = p.x ^ 0.5 * p.y ^ 0.5
      best = math.max(best, speedup)
      model.admit(kernel(n, p, speedup))
    end
    return best
  end
  t.equal(found { { name = "wrong", points = points } }, found(nil))
end)

t.test("the content of a memory is part of what a run is", function()
  local one = kb.policy("policies/kernelband.lua", { memory = file }).params.memory
  write '{ "format": "kernelband memory", "version": 1, "spaces": [] }'
  local two = kb.policy("policies/kernelband.lua", { memory = file }).params.memory
  assert(one ~= two and one:sub(1, #file) == file)
end)

-- A recorded space of which a policy can learn, and its search with a memory.
local trace = dir .. "/space.jsonl"
do
  local lines = { [[{"kernelband":"trace","version":1,"task":"toy","language":"c","device":"toy",]]
                  .. [["axes":["a","b"]}]] }
  for i = 0, 35 do
    lines[#lines + 1] = ([[{"c":[%d,%d],"v":"ok","t":%d}]]):format(i % 6, i // 6,
                                                                  100 + (i * 7) % 36)
  end
  assert(core.system.write_file(trace, table.concat(lines, "\n") .. "\n"))
end

local function search(out, steps, params)
  local r = kb.search { task = kb.trace(trace), budget = { steps = steps }, out = out, quiet = true,
                        policy = kb.policy("policies/kernelband.lua", params) }
  return r
end

t.test("a run whose memory is the file it adds to is gone on with as it was begun", function()
  os.remove(file)
  local same = { memory = file, remember = file }
  search(dir .. "/other", 8, { remember = file })
  local begun = assert(core.system.read_file(file))
  local straight = search(dir .. "/straight", 16, same)
  assert(core.system.write_file(file, begun))
  search(dir .. "/run", 8, same)
  assert(core.system.read_file(file) ~= begun, "it has learned nothing")
  run.resuming(dir .. "/run")
  local r = search(dir .. "/run", 16, same)
  run.resuming {}
  t.equal(r.rows, straight.rows)
end)

t.test("a memory that will be made by the search itself may be absent", function()
  os.remove(file)
  search(nil, 4, { memory = file, remember = file })
  t.equal(#memory.load(file), 1)
end)

t.test("a file that cannot be written is refused before the search", function()
  for _, bad in ipairs { dir, dir .. "/nowhere/m.json", "/proc/m.json" } do
    local e = t.raises("remember", kb.policy, "policies/kernelband.lua", { remember = bad })
    t.equal(e.config, true)
    t.contains(e, bad)
  end
  write "something else"
  t.raises("not a memory", kb.policy, "policies/kernelband.lua", { remember = file })
  os.remove(file)
end)

t.test("a file that cannot be written at the end costs no result", function()
  os.remove(file)
  local policy = kb.policy("policies/kernelband.lua", { remember = file })
  assert(core.system.mkdir_p(file))
  local r = kb.search { task = kb.trace(trace), budget = { steps = 4 }, policy = policy,
                        quiet = true }
  t.equal(r.pulls, 4)
  os.execute("rm -rf '" .. file .. "'")
end)

t.test("searches that save at the same time lose nothing of one another", function()
  os.remove(file)
  local script, pipes = dir .. "/save.lua", {}
  assert(core.system.write_file(script, [[
    local memory = require "kernelband.policy.memory"
    for i = 1, 20 do
      memory.save(arg[1], ("%s %d"):format(arg[2], i), { { params = { a = i }, time_ns = 1 } })
    end]]))
  for i = 1, 3 do
    pipes[i] = io.popen(("%s run %s %s %d 2>&1"):format(core.system.exe(), script, file, i))
  end
  for i = 1, 3 do
    t.equal(pipes[i]:read "a", "")
    pipes[i]:close()
  end
  t.equal(#memory.load(file), 60)
end)

t.test("an invalid memory file is refused", function()
  local head = '{ "format": "kernelband memory", "version": 1, "spaces": '
  for text, why in pairs {
    ["["] = "not a memory", ["3"] = "not a memory of kernelband: must return a table, got 3",
    ["{}"] = "not a memory of kernelband: missing field 'format'",
    [head .. '[ 1 ] }'] = "spaces[1]: expected a table, got 1",
    [head .. '[ { "name": "a", "points": [ 5 ] } ] }'] = "spaces[1].points[1]: expected a table",
    [head .. '[ { "name": "a", "points": [ { "params": {}, "time_ns": -1 } ] } ] }'] = "time_ns",
    [head .. '[ { "name": "a", "points": [ { "params": { "x": [] } } ] } ] }'] =
      "expected x as a number",
    [head .. '[ { "name": "a", "points": [ { "params": { "x": 1e300 } } ] } ] }'] =
      "expected x as a number",
    [("["):rep(100000)] = "not a memory",
  } do
    write(text)
    t.equal(t.raises(why, memory.load, file).config, true, text:sub(1, 80))
  end
  t.raises("nosuch", kb.policy, "policies/kernelband.lua", { memory = dir .. "/nosuch" })
end)

t.test("a memory of kernels that this space lacks does no harm", function()
  write('{ "format": "kernelband memory", "version": 1, "spaces": [ { "name": "a", "points": ['
        .. '{ "params": { "foo": "bar" }, "time_ns": 5 },'
        .. '{ "params": { "block_x": "text" }, "time_ns": 5 } ] } ] }')
  local brain = started { memory = file }
  brain.admit(kernel(1, { BLOCK_X = 8 }, 1))
  t.equal(select(2, brain.choose(0, {})), 1)
end)

t.test("numbers that differ have places that differ, in their order", function()
  local at = require("kernelband.policy.surrogate").place_of
  local values, before = { -8, -1, -0.5, 0, 0.25, 0.5, 1, 2, 64 }, -math.huge
  for _, v in ipairs(values) do
    assert(at(v) > before, v)
    before = at(v)
  end
  t.equal({ at(false), at(true), at(0), at(1), at(8) }, { -1, 0, -1, 0, 3 })
end)

t.test("a parameter may be a function of the pull number", function()
  local seen = {}
  local p = kb.policy("policies/ucb1.lua", { c = function(n) seen[#seen + 1] = n return 1 / n end })
  seen = {}
  local brain = p.new { strategies = { { name = "a" } }, rng = core.rng(1),
                        open = function() return true end }
  brain.admit(kernel(1, {}, 1))
  for _ = 1, 3 do brain.choose(0, {}) end
  t.equal(seen, { 1, 1, 2, 3 })
end)

t.test("a function that returns a wrong value is reported with the pull", function()
  t.raises("parameter 'c' at pull 2 must be a number, got nothing", kb.policy, "policies/ucb1.lua",
           { c = function(n) if n < 2 then return 1 end end })
end)

t.test("functions that differ are different runs", function()
  local function params(f) return kb.policy("policies/ucb1.lua", { c = f }).params.c end
  local a = params(function(n) return 1 / n end)
  t.equal(a, params(function(n) return 1 / n end))
  assert(a.at_pulls_1_2_3_5_10_20_50_100_1000[2] == 0.5)
end)

for _, name in ipairs { "kernelband", "kernelband_v1" } do
  t.test(name .. ": alpha annealed and K growing", function()
    local r = kb.search { task = kb.synthetic {}, budget = { steps = 40 },
      policy = kb.policy("policies/" .. name .. ".lua", {
        alpha = function(n) return 1 / n end, clusters = function(n) return 1 + n // 10 end }) }
    t.equal(r.pulls, 40)
  end)
end

t.finish()
