-- A policy whose model of what moves may give is full goes on: a model has 65,536 places, and
-- 8 strategies of 256 moves each want more of them from 33 kernels on.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"

local strategies, lists = {}, {}
for i = 1, 8 do strategies[i] = { name = "s" .. i, target = "sm" } end

-- Strategy i moves axis i of eight, from 1 to 256; what the others are is the kernel's.
local function moves(kernel, i)
  local key = { i }
  for d = 1, 8 do key[#key + 1] = d == i and "*" or kernel.params["a" .. d] end
  key = table.concat(key, " ")
  if not lists[key] then
    lists[key] = {}
    for v = 1, 256 do
      local p = {}
      for d = 1, 8 do p["a" .. d] = d == i and v or kernel.params["a" .. d] end
      lists[key][v] = p
    end
  end
  return lists[key], false
end

t.test("a model that has no more room for moves is made anew", function()
  local brain = kb.policy("policies/kernelband.lua").new {
    strategies = strategies, rng = kb.core.rng(1), open = function() return true end,
    moves = moves }
  local rng = kb.core.rng(2)
  for n = 1, 40 do
    local params = {}
    for d = 1, 8 do params["a" .. d] = 1 + rng:below(256) end
    brain.admit { id = n, parent = n > 1 and 1 or nil, strategy = "s1", source = "s" .. n,
                  params = params, depth = 1, time_ns = 1e6 / n, speedup = n, speedup_low = n,
                  speedup_high = n, note = {}, h = {}, h_kind = {},
                  phi = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, phi_kind = {},
                  rho = { 0, 0, 0, 0, 0, 0 }, rho_kind = {},
                  signature = { 0, 0, 0, 0, 0 }, signature_kind = {} }
    local kernel, i = brain.choose(0, {})
    assert(kernel and i >= 1 and i <= 8)
    assert(brain.prefer(moves(kernel, i)))
  end
end)

t.finish()
