-- The model of listed children: what it takes for known, what it keeps, how a search ends.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local surrogate = require "kernelband.policy.surrogate"

local function kernel(id, params, speedup)
  return { id = id, params = params, speedup = speedup, speedup_low = speedup,
    speedup_high = speedup, time_ns = 1e6 / speedup, h = {}, rho = { 0, 0, 0, 0, 0, 0 },
    phi = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, signature = { 0, 0, 0, 0, 0 } }
end

local function grid(n)
  local list = {}
  for i = 0, n * n - 1 do list[i + 1] = { x = 2 ^ (i % n), y = 2 ^ (i // n) } end
  return list
end

local function started(list, draws)
  local model = surrogate.new({}, function() return list, true, draws end, nil, 1)
  local root = kernel(1, list[1], 1)
  model.admit(root)
  return model, root
end

t.test("a child that was offered and never measured is offered again", function()
  local list = grid(4)
  local model, root = started(list)
  model.worth(root, 1, {})
  local first = model.prefer(list)
  model.worth(root, 1, { { parent = root, strategy = 1, params = list[first] } })
  assert(model.prefer(list) ~= first, "it is under way")
  model.worth(root, 1, {})
  t.equal(model.prefer(list), first)
end)

t.test("of a few drawn children those passed over stay unknown", function()
  local list = grid(4)
  local model = started(list)
  local drawn = { list[5], list[6], list[7] }
  local one = model.prefer(drawn)
  model.admit(kernel(2, drawn[one], 0.5))
  for _ = 1, 2 do
    local again = model.prefer(drawn)
    assert(again and again ~= one)
  end
end)

t.test("every one-move neighbour of a kernel is found once, whatever it is worth", function()
  local list = grid(4)
  local model, root = started(list)
  local found = {}
  while model.neighbour(root, 1, {}) do
    local p = list[model.prefer(list)]
    assert((p.x == root.params.x) ~= (p.y == root.params.y), "one parameter differs")
    found[p.x .. " " .. p.y] = true
    model.admit(kernel(#found + 2, p, 0.01))
  end
  local count = 0
  for _ in pairs(found) do count = count + 1 end
  t.equal(count, 6)
  local drawn, its = started(list, 2)
  t.equal(drawn.neighbour(its, 1, {}), false)
end)

t.test("the best kernel stays among 256 points, however many come after it", function()
  local list = grid(20)
  local model = started(list)
  model.admit(kernel(2, list[37], 9))
  for n = 2, 301 do
    local p = list[n >= 37 and n + 1 or n]
    model.admit(kernel(n + 1, p, 0.5))
  end
  local there = false
  for _, p in ipairs(model.remember()) do there = there or p.time_ns == 1e6 / 9 end
  assert(there and #model.remember() < 256)
end)

t.finish()
