-- NVRTC compiles, and admission accepts, every baseline, every reference and 20
-- random schedule points of each task, for three generations of GPU. Needs the
-- toolkit's NVRTC and no GPU.
package.path = "tests/lib/?.lua;" .. package.path
local t    = require "harness"
local core = require "kernelband.core"
local task = require "kernelband.task"
local plan = require "kernelband.task.plan"
local points = require "points"
local system = core.system

local compiler, why = core.nvrtc()
if not compiler then
  print("skipped: " .. why)
  print "0 passed, 0 failed"
  return
end

local folder = system.lib_dir() .. "/examples/tasks"
local archs = { "sm_80", "sm_90a", "sm_100a" }

local function sources(own, name)
  local out = { task.source(own, "baseline"), task.source(own, "reference") }
  local rng = core.rng(2):split(name)
  while own.schedule and #out < 22 do
    out[#out + 1] = own.schedule.emit(points.valid(own.schedule, rng))
  end
  return out
end

for _, name in ipairs(assert(system.list(folder))) do
  local own = task.for_language(task.load(folder .. "/" .. name), "cuda")
  if own.baseline.cuda then
    t.test(name .. " compiles and is admitted", function()
      for i, source in ipairs(sources(own, name)) do
        assert(plan.parse(source, own))
        for _, arch in ipairs(archs) do
          local cubin, problem = compiler:make(source, arch)
          local kernels
          if cubin then kernels, problem = core.cubin(cubin) end
          if not kernels then error(("source %d for %s: %s"):format(i, arch, problem), 0) end
          t.equal(#kernels >= 1, true)
        end
      end
    end)
  end
end
compiler:close()
t.finish()
