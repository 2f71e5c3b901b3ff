-- The CUDA schedules that work on tiles: large enough, naive at first, always
-- the same text, and no point twice under two names where it matters not.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local points = require "points"

local root = core.system.lib_dir() .. "/examples/tasks/"
local names = { "attention_fwd", "conv2d", "gemm_bf16", "gemm_f32" }

local function schedule_of(name)
  return assert(loadfile(root .. name .. "/schedule_cuda.lua", "t"))()
end

-- Without the comment that names the parameters.
local function plain(source) return (source:gsub("/%*[^*]-=.-%*/\n\n?", "", 1)) end

t.test("the first point is the baseline", function()
  for _, name in ipairs(names) do
    local schedule = schedule_of(name)
    t.equal(schedule.valid(points.first(schedule)), true)
    t.equal(plain(schedule.emit(points.first(schedule))),
            core.system.read_file(root .. name .. "/baseline.cu"))
  end
end)

t.test("a schedule has more than 300 kernels, and a point one text", function()
  for i, name in ipairs(names) do
    local schedule, rng = schedule_of(name), core.rng(i)
    local seen, kernels = {}, 0
    for _ = 1, 1200 do
      local p = points.random(schedule, rng)
      if schedule.valid(p) then
        local source = schedule.emit(p)
        t.equal(schedule.emit(p), source)
        if not seen[source] then
          seen[source] = true
          kernels = kernels + 1
        end
      end
    end
    t.equal(kernels > 300, true, name .. " has " .. kernels)
  end
end)

t.test("no hole is left in a text, and every launch names its kernel", function()
  for i, name in ipairs(names) do
    local schedule, rng = schedule_of(name), core.rng(i + 10)
    for _ = 1, 100 do
      local p = points.random(schedule, rng)
      if schedule.valid(p) then
        local source = schedule.emit(p)
        t.equal(not source:find("${", 1, true), true)
        for kernel in source:gmatch "// kb: launch (%w+)" do
          t.equal(source:find("[ \n]" .. kernel .. "%(") ~= nil, true, kernel)
        end
      end
    end
  end
end)

t.finish()
