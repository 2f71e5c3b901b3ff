-- This file tests lua/kernelband/policy/init.lua, which loads a policy file and calls its
-- functions. It checks the parameters, the data that a policy can read and change, and the errors.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local kb = require "kernelband"

local dir = t.folder()
local path = dir .. "/p.lua"

local function load(text, params)
  assert(core.system.write_file(path, text))
  return kb.policy(path, params)
end

local template = [[
return { name = "p", summary = "s", defaults = { c = 1.5, mode = "a", clusters = 3, list = {} },
  accepts = { clusters = { "number", "string" } },
  new = function(params, ctx)
    local all = {}
    return {
      admit = function(kernel) all[#all + 1] = kernel %s end,
      choose = function(pending) %s end,
      learn = function(pull) %s end,
    } end }]]

local function policy(admit, choose, learn, params)
  return load(template:format(admit or "", choose or "return all[1], 1", learn or ""), params)
end

local function started(...)
  return policy(...).new { strategies = { { name = "s1" }, { name = "s2" } },
                           open = function(kernel, i) return kernel.id == 1 and i == 2 end }
end

t.test("a list of random numbers is filled with what one call after another gives", function()
  local one, many = core.rng(5), core.rng(5)
  local list = many:uniform { 0, 0, 0 }
  t.equal(list, { one:uniform(), one:uniform(), one:uniform() })
  t.equal(many:uniform(), one:uniform())
  t.raises("table expected", function() one:uniform "3" end)
end)

t.test("parameters are laid over defaults", function()
  local p = policy(nil, nil, nil, { c = 2, clusters = "each" })
  t.equal(p.params, { c = 2, mode = "a", clusters = "each", list = {} })
  t.equal(p.name, "p")
  t.equal(p.summary, "s")
  t.equal(p.file, path)
end)

t.test("a misspelt parameter is reported with the line of the call", function()
  local line = debug.getinfo(1, "l").currentline + 1
  local _, e = pcall(function() kb.policy(path, { clutsers = 1 }) end)
  t.contains(e, ("spec_policy.lua:%d: kb.policy"):format(line))
  t.contains(e, "unknown parameter 'clutsers' (did you mean 'clusters'?)")
end)

t.test("a parameter has the type of its default", function()
  t.raises("c: expected a number, got \"x\"", kb.policy, path, { c = "x" })
  t.raises("clusters: expected a number or a string, got true", kb.policy, path,
           { clusters = true })
  t.equal(kb.policy(path, { list = "anything" }).params.list, "anything")
end)

t.test("bad policy files are configuration errors", function()
  local new = "new = function() end"
  for text, why in pairs {
    ["return 1"] = "must return a table",
    ["return { name = 'p', defaults = {}, " .. new .. ", chose = 1 }"] = "unknown field 'chose'",
    ["return { name = 'p', " .. new .. " }"] = "missing field 'defaults'",
    ["return { name = 'p', defaults = {}, accepts = { k = 'number' }, " .. new .. " }"] =
      "accepts names 'k'",
    ["x = 1"] = "global 'x' cannot be set",
    ["return {"] = "p.lua:1:",
  } do
    t.equal(t.raises(why, load, text).config, true)
  end
  t.raises("no such file: nosuch.lua", kb.policy, "nosuch.lua")
  t.raises("is not a file", kb.policy, dir)
end)

t.test("choose gives back the engine's own kernel", function()
  local p = started()
  local kernel = { id = 1, phi = { 1, 2 } }
  p.admit(kernel)
  local parent, i = p.choose(0)
  t.equal(parent == kernel, true)
  t.equal(i, 1)
end)

t.test("a policy cannot change a kernel but by its note", function()
  local p = started("kernel.note.seen = 7 kernel.phi[1] = 9 kernel.id = 5")
  local kernel = { id = 1, phi = { 1, 2 } }
  p.admit(kernel)
  t.equal(kernel, { id = 1, phi = { 1, 2 }, note = { seen = 7 } })
end)

t.test("a replaced note is kept", function()
  local p = started("kernel.note = { cluster = 2 }")
  local kernel = { id = 1 }
  p.admit(kernel)
  t.equal(kernel.note, { cluster = 2 })
end)

t.test("open is asked about the engine's kernel", function()
  local p = started(nil, [[
    for i = 1, #ctx.strategies do
      if ctx.open(all[1], i) then return all[1], i, { mean = 1 } end
    end]])
  p.admit { id = 1 }
  local _, i, terms = p.choose(0)
  t.equal(i, 2)
  t.equal(terms, { mean = 1 })
end)

t.test("learn sees the kernels it knows", function()
  local p = started(nil, "return all[1], 1",
    "assert(pull.parent == all[1]) assert(pull.child == nil) "
    .. "assert(pull.reward == 0.5) all[1].note.pulled = true pull.reward = 9")
  local kernel = { id = 1 }
  local pull = { parent = kernel, strategy = 1, reward = 0.5 }
  p.admit(kernel)
  p.learn(pull)
  t.equal(kernel.note.pulled, true)
  t.equal(pull.reward, 0.5)
end)

t.test("nil ends the search", function()
  t.equal(started(nil, "return nil").choose(0), nil)
end)

t.test("rubbish choices are errors that say what was wanted", function()
  for choice, why in pairs {
    ["return 1, 1"] = "an admitted kernel or nil, got 1",
    ["return {}, 1"] = "an admitted kernel or nil, got a table",
    ["return all[1]"] = "a strategy index 1..2 beside the kernel, got nothing",
    ["return all[1], 0"] = "a strategy index 1..2",
    ["return all[1], 3"] = "a strategy index 1..2",
    ["return all[1], 1.5"] = "a strategy index 1..2",
    ["return all[1], 1, 2"] = "a table of terms or nil",
  } do
    local p = started(nil, choice)
    p.admit { id = 1 }
    t.contains(t.raises(why, p.choose, 0), "p.lua")
  end
end)

t.test("of children that were drawn a policy may prefer one", function()
  local function preferring(body)
    local own = "prefer = function(points) " .. body .. " end,\n learn = "
    return load(template:gsub("learn = ", own):format("", "return all[1], 1", "")).new {
      strategies = { { name = "s1" } }, open = function() return true end }
  end
  local points = { { x = 1 }, { x = 7 } }
  t.equal(preferring("return points[2].x == 7 and 2").prefer(points), 2)
  t.equal(preferring("points[1].x = 5 return nil").prefer(points), nil)
  t.equal(points[1].x, 1, "they are copies")
  t.equal(started().prefer, nil)
  for _, rubbish in ipairs { "0", "3", "1.5", "{}", "true" } do
    t.contains(t.raises("prefer must return the number of a point, 1..2, or nil",
                        preferring("return " .. rubbish).prefer, points), "p.lua")
  end
  t.raises("step budget spent", preferring("while true do end").prefer, points)
end)

t.test("a policy that loops for ever is stopped", function()
  local p = started(nil, "while true do end")
  t.raises("p.lua:7: step budget spent", p.choose, 0)
end)

t.test("only the hook choose is required, and a misspelt one is reported", function()
  local p = load "return { name = 'p', defaults = {}, new = function() return {} end }"
  t.raises("p.lua: new: missing field 'choose'", p.new, { strategies = {} })
  local text = "return { name = 'p', defaults = {}, "
               .. "new = function() return { %s = function() end } end }"
  p = load(text:format "choose = function() end, lern")
  t.raises("unknown field 'lern' (did you mean 'learn'?)", p.new, { strategies = {} })
  p = load [[return { name = "p", defaults = {}, new = function(_, ctx)
    return { choose = function() return ctx.pool[1], 1 end } end }]].new { strategies = { {} } }
  local slow, fast = { id = 1, speedup = 1 }, { id = 2, speedup = 3 }
  p.admit(slow)
  t.equal(p.choose(0) == slow, true)
  p.admit(fast)
  p.learn { n = 1, parent = slow, strategy = 1, reward = 1, child = fast }
  t.equal(p.choose(0) == fast, true)
end)

t.test("ctx.pool is sorted by speed-up, and ctx.pending counts what is under way", function()
  local p = load([[return { name = "p", defaults = {}, new = function(_, ctx)
    return { choose = function()
      local ids = {}
      for i, kernel in ipairs(ctx.pool) do ids[i] = kernel.id end
      local slow = ctx.pool[#ctx.pool]
      ctx.log(table.concat(ids, " "), ctx.pending(), ctx.pending(slow), ctx.pending(nil, 2),
              ctx.pending(slow, 2), ctx.pending(slow, 1))
      return slow, 1
    end } end }]])
  local said = {}
  local run = p.new { strategies = { {}, {} }, log = function(text) said[#said + 1] = text end }
  local kernels = {}
  for i, speedup in ipairs { 1, 3, 2, 3 } do
    kernels[i] = { id = i, speedup = speedup }
    run.admit(kernels[i])
  end
  run.choose(0)
  run.choose(3, { { parent = kernels[1], strategy = 2 }, { parent = kernels[1], strategy = 2 },
                  { parent = kernels[2], strategy = 2 } })
  t.equal(said, { "2 4 3 1\t0\t0\t0\t0\t0", "2 4 3 1\t3\t2\t3\t2\t0" })
end)

t.test("a policy has arithmetic and no machine", function()
  local p = load [[return { name = "p", defaults = {}, new = function(params, ctx)
    assert(ctx.core.system == nil and ctx.core.store == nil)
    ctx.core.ucb = 1 end }]]
  t.raises("'ucb' cannot be set", p.new, { strategies = {} })
end)

os.remove(path)
os.remove(dir)
t.finish()
