-- A run of 100,000 pulls: what a pull costs as the pool grows, what opening costs, and
-- going on. The policy looks at two kernels a choice, so that the figures are the engine's.
--   kernelband run tests/lua/soak_long.lua [pulls] [folder]
package.path = "tests/lib/?.lua;" .. package.path
local kb = require "kernelband"
local core = kb.core
local run = require "kernelband.store.run"
local worlds = require "worlds"

local pulls = math.tointeger(tonumber(arg[1] or 100000))
local dir = arg[2] or worlds.folder()

local policy = worlds.file [[
return { name = "cheap", defaults = {}, new = function(params, ctx)
  local pool = {}
  return {
    admit = function(k) pool[#pool + 1] = k end, learn = function() end,
    choose = function()
      for _ = 1, 50 do
        local k, i = pool[1 + ctx.rng:below(#pool)], 1 + ctx.rng:below(#ctx.strategies)
        if ctx.open(k, i) then return k, i, { mean = 0.5, cluster = 1 } end
      end
      return pool[1], 1
    end } end }]]

local began = core.system.now_ns()
local function lap(what)
  local now = core.system.now_ns()
  local s = (now - began) / 1e9
  print(("%-34s %8.2f s"):format(what, s))
  began = core.system.now_ns()
  return s
end

local mark
local function search(steps, fresh_from)
  return kb.search { task = kb.synthetic { seed = 3 }, budget = { steps = steps }, out = dir,
    policy = policy, confirm = false, quiet = true, on_pull = function(p)
      if p.landed > fresh_from and p.landed % (pulls // 5) == 0 then
        local now = core.system.now_ns()
        if mark then
          print(("  to pull %6d  %7.1f us a pull, %4.0f MiB of Lua"):format(p.landed,
            (now - mark) / 1e3 / (pulls // 5), collectgarbage "count" / 1024))
        end
        mark = now
      end
    end }
end

search(pulls, 0)
lap(pulls .. " pulls")
collectgarbage()
local reader = run.reader(dir)
assert(#reader:pulls() == pulls)
local kernels = #reader:kernels()
reader:close()
reader = nil                            -- luacheck: ignore
local opened = lap(("opened, %d kernels read"):format(kernels))
assert(opened < 60, "opening takes too long")
collectgarbage()
run.resuming(dir)
local r = search(pulls + 10, math.maxinteger)
assert(r.pulls == pulls + 10)
assert(lap "resumed, 10 pulls more" < 300, "going on takes too long")
worlds.clean()
