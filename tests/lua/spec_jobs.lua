-- This file tests lua/kernelband/base/jobs.lua, which limits how many jobs run at the same time. It
-- checks the order of waiting jobs, errors, cancellation and the results of commands.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local jobs = require "kernelband.base.jobs"
local loop = require "kernelband.base.loop"

local ms = 10 ^ 6 // 1

local function drive(L, tasks)
  for _, task in ipairs(tasks) do
    while not task:done() do L:turn(1000 * ms) end
  end
end

t.test("so many are in their places at once, the others come in turn", function()
  local L, now, most, order, tasks = loop.new(), 0, 0, {}, {}
  local places = jobs.places(L, 2)
  for i = 1, 5 do
    tasks[i] = L:spawn(function()
      local a, b = places.use(function(x)
        now = now + 1
        most = math.max(most, now)
        order[#order + 1] = x
        L:sleep(2 * ms)
        now = now - 1
        return x, "done"
      end, i)
      t.equal({ a, b }, { i, "done" })
    end)
  end
  drive(L, tasks)
  t.equal({ most, now }, { 2, 0 })
  t.equal(order, { 1, 2, 3, 4, 5 })
end)

t.test("an error or a cancel leaves the place to the next", function()
  local L, out, tasks = loop.new(), {}, {}
  local places = jobs.places(L, 1)
  local function fails()
    L:sleep(2 * ms)
    error("no", 0)
  end
  tasks[1] = L:spawn(function() out[1] = select(2, pcall(places.use, fails)) end)
  tasks[2] = L:spawn(function() out[2] = select(3, places.use(error, "never")) end)
  tasks[3] = L:spawn(function() out[3] = places.use(function() return "third" end) end)
  tasks[2]:cancel()
  drive(L, tasks)
  t.equal(out, { "no", "ECANCELED", "third" })
  t.equal(places.use(function() return "free" end), "free")
end)

t.test("n commands run at a time and each end is reported", function()
  local requests, said = {}, {}
  for i = 1, 4 do
    requests[i] = { argv = { "/bin/sh", "-c", ("echo %d; exit %d"):format(i, i % 2) } }
  end
  requests[5] = { argv = { "/nonexistent" } }
  local whole = jobs.run(2, requests, function(i, result, why)
    said[i] = result and result.status .. result.output or why
  end)
  t.equal(whole, true)
  t.equal(table.move(said, 1, 4, 1, {}), { "11\n", "02\n", "13\n", "04\n" })
  t.contains(said[5], "nonexistent")
end)

t.finish()
