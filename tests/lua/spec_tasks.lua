-- The tasks and the strategies that come with the engine: schedules that are
-- large enough, parameters that are owned, text that is always the same.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local evaluate = require "kernelband.evaluate"
local kb = require "kernelband"
local points = require "points"

local strategy_names = { "access_layout", "fusion", "pipeline", "reordering",
                         "tiling", "vectorization" }
local task_names = { "gelu_bias", "matmul", "reduce_sum", "rmsnorm", "softmax", "stencil2d",
                     "transpose" }
local root = core.system.lib_dir() .. "/"

local function folder(name) return root .. "examples/tasks/" .. name .. "/" end

local function schedule_of(name)
  return assert(loadfile(folder(name) .. "schedule.lua", "t"))()
end

local function with(p, name, value)
  local out = {}
  for k, v in pairs(p) do out[k] = v end
  out[name] = value
  return out
end

local strategies = kb.strategies(root .. "strategies/c")

local function owners()
  local owner = {}
  for _, s in ipairs(strategies) do
    for _, name in ipairs(s.moves) do
      owner[name] = owner[name] or {}
      table.insert(owner[name], s.name)
    end
  end
  return owner
end

t.test("the set is the six strategies of the paper, each with its target",
       function()
  local target = { access_layout = "dram", fusion = "dram", pipeline = "sm",
                   reordering = "sm", tiling = "l2", vectorization = "dram" }
  t.equal(#strategies, #strategy_names)
  for i, s in ipairs(strategies) do
    t.equal(s.name, strategy_names[i])
    t.equal(s.target, target[s.name], s.name)
  end
end)

t.test("a prompt is a text", function()
  for _, s in ipairs(strategies) do
    assert(#s.prompt > 200, s.name)
  end
end)

t.test("no parameter has two owners", function()
  for name, list in pairs(owners()) do t.equal(#list, 1, name) end
end)

for _, name in ipairs(task_names) do
  local schedule = schedule_of(name)

  t.test(name .. ": every parameter has an owner, every strategy a parameter",
         function()
    local owner, used = owners(), {}
    for _, parameter in ipairs(schedule.parameters) do
      assert(owner[parameter[1]], parameter[1] .. " is owned by nobody")
      assert(#parameter[2] >= 2, parameter[1] .. " has one value")
      used[owner[parameter[1]][1]] = true
    end
    for _, s in ipairs(strategy_names) do assert(used[s], s .. " owns nothing") end
  end)

  t.test(name .. ": values of a parameter differ", function()
    for _, parameter in ipairs(schedule.parameters) do
      local seen = {}
      for _, value in ipairs(parameter[2]) do
        assert(not seen[value], parameter[1])
        seen[value] = true
      end
    end
  end)

  t.test(name .. ": from some point each strategy reaches another kernel",
         function()
    local rng, changed = core.rng(7), {}
    local owner = owners()
    for _ = 1, 60 do
      local p = points.random(schedule, rng)
      local text = schedule.valid(p) and schedule.emit(p)
      for _, parameter in ipairs(text and schedule.parameters or {}) do
        local who = owner[parameter[1]][1]
        for _, value in ipairs(changed[who] and {} or parameter[2]) do
          local q = with(p, parameter[1], value)
          if schedule.valid(q) and schedule.emit(q) ~= text then
            changed[who] = true
          end
        end
      end
    end
    for _, s in ipairs(strategy_names) do assert(changed[s], s) end
  end)

  t.test(name .. ": at least 300 valid points are different kernels", function()
    local rng, seen, count = core.rng(1), {}, 0
    for _ = 1, 2000 do
      local p = points.random(schedule, rng)
      local text = schedule.valid(p) and schedule.emit(p)
      if text and not seen[text] then
        seen[text] = true
        count = count + 1
        if count == 300 then return end
      end
    end
    error(("only %d in 2000 random points"):format(count))
  end)

  t.test(name .. ": the first values are valid, and text is reproducible",
         function()
    local p = points.first(schedule)
    t.equal(schedule.valid(p), true)
    local again = schedule_of(name)
    local rng = core.rng(3)
    for _ = 1, 20 do
      if schedule.valid(p) then
        local before = {}
        for k, v in pairs(p) do before[k] = v end
        local text = schedule.emit(p)
        t.equal(again.emit(p), text)
        t.equal(p, before, "emit changed its argument")
        t.contains(text, "void " .. name .. "(")
      end
      p = points.random(schedule, rng)
    end
  end)

  t.test(name .. ": source is at most 100 wide and never scalar by accident",
         function()
    local rng = core.rng(5)
    for _ = 1, 20 do
      local p = points.random(schedule, rng)
      if schedule.valid(p) then
        local text = schedule.emit(p)
        for line in text:gmatch "[^\n]+" do assert(#line <= 100, line) end
        t.equal(text:find("vector_size", 1, true) ~= nil, p.vector > 1)
      end
    end
  end)
end

-- tests/lua/soak_tasks.lua judges thirty points of every task.
for _, name in ipairs { "gelu_bias", "reduce_sum" } do
  t.test(name .. ": its first point and a random one are judged ok", function()
    local task = kb.task(folder(name))
    task.shapes.timed = { { rows = 16, cols = 256 } }
    local s = evaluate.open(task, evaluate.device "cpu")
    local rng = core.rng(11)
    local p = points.first(task.schedule)
    for _ = 1, 2 do
      local got = s:evaluate(task.schedule.emit(p))
      t.equal(got.verdict, "ok", got.reason)
      p = points.valid(task.schedule, rng)
    end
    s:close()
  end)
end

t.finish()
