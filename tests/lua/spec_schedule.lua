-- This file tests lua/kernelband/generator/schedule.lua. It checks which points of a schedule can
-- be children of a kernel, how one of them is drawn, and how a schedule's first points are used. It
-- also tests the functions of lua/kernelband/emit/init.lua that choose first points.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local core = kb.core

local function strategy(name, ...) return { name = name, moves = { ... } } end

local tiling = strategy("tiling", "tile_m", "tile_n")
local vector = strategy("vector", "width")
local stranger = strategy("stranger", "nobody")

local function schedule(more)
  local s = {
    parameters = { { "tile_m", { 0, 16, 32 } }, { "tile_n", { 0, 16 } },
                   { "width", { 1, 4, 8 } } },
    valid = function(p) return not (p.tile_m == 0 and p.tile_n == 16) end,
    emit = function(p)
      return ("m%d n%d w%d"):format(p.tile_m, p.tile_n, p.width)
    end,
  }
  for k, v in pairs(more or {}) do s[k] = v end
  return s
end

local function start(more, options)
  return kb.generator.schedule(options).start {
    name = "toy", schedule = schedule(more) }
end

local function kernel(id, params) return { id = id, params = params } end

-- Everything a pair gives until it is exhausted, in order.
local function all(g, parent, s, seed)
  local out, rng = {}, core.rng(seed or 1)
  while true do
    local open = g.open(parent, s)
    local c, why = g.propose(parent, s, rng)
    t.equal(c ~= nil, open, "open tells what propose will do")
    if not c then return out, why end
    out[#out + 1] = c.source
  end
end

t.test("the baseline is the first value of everything", function()
  t.equal(start().first, { tile_m = 0, tile_n = 0, width = 1 })
end)

t.test("a child is its parent with only owned parameters changed", function()
  local got, why = all(start(), kernel(1, start().first), tiling)
  table.sort(got)
  t.equal(got, { "m16 n0 w1", "m16 n16 w1", "m32 n0 w1", "m32 n16 w1" })
  t.contains(why, "every point that tiling can reach from kernel 1 is known")
end)

t.test("moves are the valid points a strategy reaches, one list for all that share it", function()
  local g = start()
  local first = kernel(1, { tile_m = 0, tile_n = 0, width = 1 })
  local list, again = g.moves(first, tiling)
  t.equal(#list, 5)
  t.equal(again, false)
  for _, p in ipairs(list) do t.equal(p.width, 1) end
  t.equal(g.moves(kernel(2, { tile_m = 32, tile_n = 16, width = 1 }), tiling) == list, true)
  t.equal(#g.moves(first, vector), 3)
  t.equal(g.moves(kernel(3, { other = 1 }), tiling), nil)
end)

t.test("what one parent gave is not given again by another", function()
  local g = start()
  local a = kernel(1, g.first)
  t.equal(#all(g, a, vector), 2)
  local b = kernel(2, { tile_m = 0, tile_n = 0, width = 8 })
  t.equal(g.open(b, vector), false)
  t.equal(#all(g, b, tiling), 4)
end)

t.test("points whose source is known are not new", function()
  local g = start { emit = function(p) return "w" .. p.width end }
  t.equal(g.open(kernel(1, g.first), tiling), false)
  t.equal(#all(g, kernel(1, g.first), vector), 2)
end)

t.test("seen takes a candidate away, numbers as JSON gives them too", function()
  local g = start()
  g.seen { source = "m0 n0 w4", params = { tile_m = 0.0, tile_n = 0.0, width = 4.0 } }
  t.equal(all(g, kernel(1, g.first), vector), { "m0 n0 w8" })
end)

t.test("a child of a parent read from JSON has the same source", function()
  local g = start()
  local c = g.propose(kernel(2, { tile_m = 16.0, tile_n = 0.0, width = 1.0 }),
                      vector, core.rng(1))
  t.equal(math.type(c.params.tile_m), "integer")
end)

t.test("strategies without parameters here are not open", function()
  local g = start()
  t.equal(g.open(kernel(1, g.first), stranger), false)
  local c, why = g.propose(kernel(1, g.first), stranger, core.rng(1))
  t.equal(c, nil)
  t.contains(why, "owns no parameter")
  t.equal(g.open(kernel(1, nil), tiling), false)
  t.equal(g.open(kernel(1, { tile_m = 5, tile_n = 0, width = 1 }), tiling), false)
end)

t.test("the same draws give the same children, other draws others", function()
  local function order(seed)
    local g = start()
    return all(g, kernel(1, g.first), tiling, seed)
  end
  t.equal(order(1), order(1))
  local differs = false
  for seed = 2, 9 do
    differs = differs or table.concat(order(seed)) ~= table.concat(order(1))
  end
  t.equal(differs, true)
end)

t.test("children are drawn evenly", function()
  local count = {}
  for seed = 1, 400 do
    local g = start()
    local c = g.propose(kernel(1, g.first), tiling, core.rng(seed))
    count[c.source] = (count[c.source] or 0) + 1
  end
  for _, n in pairs(count) do assert(n > 70 and n < 130, n) end
end)

t.test("all children that can be listed are ranked, and what is known is passed over", function()
  local g = start()
  local parent = kernel(1, g.first)
  local function smallest(points)
    local at = 1
    for i, p in ipairs(points) do
      if p.tile_m * 100 + p.tile_n < points[at].tile_m * 100 + points[at].tile_n then at = i end
    end
    return at
  end
  local got = {}
  for n = 1, 4 do
    got[n] = g.propose(parent, tiling, core.rng(n), { prefer = smallest }).source
  end
  local sorted = table.move(got, 1, 4, 1, {})
  table.sort(sorted)
  t.equal(got, sorted)
  t.equal(g.propose(parent, tiling, core.rng(5), { prefer = smallest }), nil)
end)

t.test("a strategy that owns * reaches every point in one step", function()
  local g, seen, count = start(), {}, 0
  local parent, anew = kernel(1, g.first), strategy("anew", "*")
  while g.open(parent, anew) do
    local c = assert(g.propose(parent, anew, core.rng(count)))
    assert(not seen[c.source], c.source)
    seen[c.source], count = true, count + 1
  end
  t.contains(g.ending { anew }, "the space is exhausted")
end)

t.test("of a few children drawn the one that is preferred is proposed", function()
  local g, offered = start(nil, { draws = 4 }), {}
  local function prefer(points)
    offered[#offered + 1] = #points
    for i, p in ipairs(points) do
      if p.tile_m == 32 and p.tile_n == 16 then return i end
    end
  end
  local first = start().propose(kernel(1, g.first), tiling, core.rng(3))
  local c = g.propose(kernel(1, g.first), tiling, core.rng(3), { prefer = prefer })
  t.equal(c.source, "m32 n16 w1")
  t.equal(offered, { 4 })
  local lone = start(nil, { draws = 1 })
  t.equal(lone.propose(kernel(1, g.first), tiling, core.rng(3), { prefer = prefer }), first)
  t.equal(offered, { 4 }, "one is no choice")
  local even = start().propose(kernel(1, g.first), tiling, core.rng(3),
                               { prefer = function() end })
  t.equal(even, first, "without a word the first is it")
end)

t.test("no child is drawn twice for one proposal", function()
  local values = { 0, 1, 2 }
  local g = kb.generator.schedule { limit = 8 }.start { name = "sampled",
    schedule = { parameters = { { "a", values }, { "b", values } },
      valid = function() return true end,
      emit = function(p) return p.a .. " " .. p.b end } }
  local both, most = strategy("both", "a", "b"), 0
  for seed = 1, 7 do
    g.propose(kernel(1, g.first), both, core.rng(seed), { prefer = function(points)
      local seen = {}
      for _, p in ipairs(points) do
        t.equal(seen[p.a .. " " .. p.b], nil)
        seen[p.a .. " " .. p.b] = true
      end
      most = math.max(most, #points)
    end })
  end
  t.equal(most, 4)
end)

t.test("a generator of other draws than usual says so in a run's identity", function()
  t.equal(start().identity, "schedule")
  t.equal(start(nil, { draws = 1 }).identity, "schedule, limit 4096, draws 1")
  t.equal(kb.generator.schedule({ draws = 1 }).identity, "schedule, limit 4096, draws 1")
end)

t.test("more combinations than the limit are sampled", function()
  local values = {}
  for i = 0, 99 do values[i + 1] = i end
  local g = kb.generator.schedule { limit = 50 }.start { name = "wide",
    schedule = { parameters = { { "a", values }, { "b", values } },
      valid = function() return true end,
      emit = function(p) return p.a .. " " .. p.b end } }
  local wide = strategy("wide", "a", "b")
  for _ = 1, 200 do
    assert(g.open(kernel(1, g.first), wide))
    assert(g.propose(kernel(1, g.first), wide, core.rng(_)))
  end
end)

t.test("of more combinations than the limit most differ from the parent in few values", function()
  local parameters, names = {}, {}
  for i = 1, 10 do
    names[i] = "p" .. i
    parameters[i] = { names[i], { 0, 1, 2, 3, 4, 5, 6, 7 } }
  end
  local g = kb.generator.schedule { draws = 1 }.start { name = "many",
    schedule = { parameters = parameters, valid = function() return true end,
      emit = function(p)
        local words = {}
        for i, name in ipairs(names) do words[i] = p[name] end
        return table.concat(words, " ")
      end } }
  local far = {}
  for i, name in ipairs(names) do far[name] = i % 8 end
  local changed, which = {}, {}
  for seed = 1, 400 do
    local child = assert(g.propose(kernel(1, far), strategy("all", table.unpack(names)),
                                   core.rng(seed)))
    local n = 0
    for _, name in ipairs(names) do
      if child.params[name] ~= far[name] then
        n = n + 1
        which[name] = true
      end
    end
    changed[n] = (changed[n] or 0) + 1
  end
  t.equal(changed[0], nil)
  -- One value: 70 children in all, which the first hundreds use up; two: 2205.
  t.equal(changed[1] <= 70 and changed[1] > 50, true, changed[1])
  t.equal(changed[2] > 80, true, changed[2])
  t.equal(400 - changed[1] - changed[2] > 100, true, "the others are not out of reach")
  for _, name in ipairs(names) do t.equal(which[name], true, name) end
end)

t.test("a schedule that raises is named, with its line", function()
  local why = t.raises("schedule of task toy: emit: ", start,
                       { emit = function(p) return p.x.y end })
  t.contains(why, "spec_schedule.lua:")
  local g = start { valid = function() error "no" end }
  t.raises("task toy: valid: ", g.open, kernel(1, g.first), tiling)
  t.raises("must return C source, got 7", start, { emit = function() return 7 end })
end)

t.test("a task without a schedule is refused", function()
  t.raises("has no schedule", function()
    kb.generator.schedule {}.start { name = "bare" }
  end)
end)

-- First points -----------------------------------------------------------------

local machine = { roofline = { isa = "avx2+fma", l1d_bytes = 32768, l2_bytes = 524288,
                               l3_bytes = 0 } }

local function advised(first_points)
  return kb.generator.schedule().start({ name = "toy",
    schedule = schedule { first_points = first_points } },
    { device = function() return machine end })
end

t.test("a pair's first child has what the first points say of its parameters", function()
  local asked
  local g = advised(function(m)
    asked = m
    return { { tile_m = 32, tile_n = 16, width = 8 } }
  end)
  g.seen { source = "known", params = { tile_m = 32, tile_n = 16, width = 8 } }
  local first = kernel(1, g.first)
  t.equal(g.propose(first, tiling, core.rng(1)).source, "m32 n16 w1")
  t.equal(g.propose(first, vector, core.rng(1)).source, "m0 n0 w8")
  t.equal(g.propose(kernel(2, { tile_m = 32, tile_n = 16, width = 1 }), vector,
                    core.rng(1)).source, "m32 n16 w4")
  t.equal(asked, machine)
end)

t.test("a first point that names every parameter comes first, whatever the strategy", function()
  local g = advised(function()
    return { { tile_m = 16, tile_n = 16, width = 4 }, { tile_m = 32 } }
  end)
  t.equal(g.propose(kernel(1, g.first), vector, core.rng(1)).source, "m16 n16 w4")
  t.equal(g.propose(kernel(1, g.first), vector, core.rng(1)).source, "m0 n0 w4")
  t.equal(g.propose(kernel(1, g.first), tiling, core.rng(1)).source, "m16 n16 w1")
  t.equal(g.propose(kernel(1, g.first), tiling, core.rng(1)).source, "m32 n0 w1")
end)

t.test("what first points say of a strategy's parameters is tried once, not from every parent",
       function()
  local g = advised(function() return { { width = 8 } } end)
  local other = kernel(2, { tile_m = 32, tile_n = 16, width = 1 })
  local function narrow(list)           -- a policy that wants 4
    for n, p in ipairs(list) do if p.width == 4 then return n end end
  end
  t.equal(g.propose(kernel(1, g.first), vector, core.rng(1), { prefer = narrow }).source,
          "m0 n0 w8")
  t.equal(g.propose(other, vector, core.rng(1), { prefer = narrow }).source, "m32 n16 w4")
  local resumed = advised(function() return { { width = 8 } } end)
  resumed.seen { source = "m0 n0 w8", params = { tile_m = 0, tile_n = 0, width = 8 } }
  t.equal(resumed.propose(other, vector, core.rng(1), { prefer = narrow }).source, "m32 n16 w4")
end)

t.test("after the first points, and where none is valid or new, children are drawn", function()
  local g = advised(function() return { { tile_n = 16 }, { tile_m = 16 }, { width = 3 } } end)
  local got = all(g, kernel(1, g.first), tiling)
  t.equal(got[1], "m16 n0 w1")          -- tile_n = 16 alone is not valid
  t.equal(#got, 4)
  t.equal(#all(g, kernel(1, g.first), vector), 2)
end)

t.test("while the machine is not known there are no first points", function()
  local g = kb.generator.schedule().start({ name = "toy", schedule = schedule {
    first_points = function() error "asked" end } }, { device = function() end })
  t.equal(#all(g, kernel(1, g.first), tiling), 4)
end)

t.test("first points that fail name the schedule", function()
  local g = advised(function() error "no such cache" end)
  t.raises("no such cache", g.propose, kernel(1, g.first), tiling, core.rng(1))
end)

t.test("register tiles fill the registers and leave some to spare", function()
  local emit = require "kernelband.emit"
  local rows, vectors = { 1, 2, 4, 6, 8, 12 }, { 1, 2, 3, 4 }
  local function tile(isa)
    return emit.register_tile({ roofline = { isa = isa } }, rows, vectors)
  end
  t.equal(tile "avx2+fma", { 6, 2 })
  t.equal(tile "avx512f", { 12, 2 })
  t.equal(tile "unknown", nil)
  t.equal(emit.register_tile({}, rows, vectors), nil)
  t.equal(emit.vector_width(machine, { 1, 4, 8, 16 }), 8)
  t.equal(emit.block(32768, 64, { 0, 64, 128, 256 }), 256)
  t.equal(emit.block(1024, 64, { 0, 64, 128, 256 }), 0)
end)

t.test("every C schedule's first points are points of it", function()
  local path = require "kernelband.base.path"
  local tasks = path.find "examples/tasks"
  for _, isa in ipairs { "avx2+fma", "avx512f", "baseline" } do
    local here = { roofline = { isa = isa, l1d_bytes = 32768, l2_bytes = 524288, l3_bytes = 0 } }
    for _, name in ipairs(core.system.list(tasks)) do
      local file = tasks .. "/" .. name
      local s = core.system.exists(file .. "/schedule.lua") and kb.task(file).schedule
      for _, p in ipairs(s and s.first_points(here) or {}) do
        local known, whole = {}, {}
        for _, q in ipairs(s.parameters) do
          whole[q[1]] = q[2][1]
          for _, v in ipairs(q[2]) do known[q[1] .. " " .. v] = true end
        end
        for axis, value in pairs(p) do
          t.equal(known[axis .. " " .. value], true, file .. " " .. axis .. " " .. value)
          whole[axis] = value
        end
        t.equal(s.valid(whole), true, file)
      end
    end
  end
end)

t.finish()
