-- The CUDA side of the tasks and the two sets of CUDA strategies: schedules that
-- are large enough, parameters that are owned, text that is always the same and
-- carries its launch plan. Needs neither GPU nor toolkit.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local kb = require "kernelband"
local points = require "points"

local root = core.system.lib_dir() .. "/"
local sets = {
  { folder = "cuda", names = { "access_layout", "fusion", "pipeline", "reordering",
                               "tiling", "vectorization" } },
  { folder = "cuda_v1", names = {
      "asynchrony_latency", "compute_instruction", "controlflow_loop", "memory_access",
      "memory_layout", "operation_fusion", "parallelism_occupancy", "precision_dtype",
      "reductions_scans_atomics", "scheduling_autotuning", "tiling_blocking" } },
}
local targets = { access_layout = "dram", fusion = "dram", pipeline = "sm",
                  reordering = "sm", tiling = "l2", vectorization = "dram" }

local function folder(name) return root .. "examples/tasks/" .. name .. "/" end

local function tasks()
  local out = {}
  for _, name in ipairs(core.system.list(root .. "examples/tasks")) do
    if core.system.exists(folder(name) .. "schedule_cuda.lua") then
      out[#out + 1] = name
    end
  end
  return out
end

local function schedule_of(name)
  return assert(loadfile(folder(name) .. "schedule_cuda.lua", "t"))()
end

local function task_of(name)
  return assert(loadfile(folder(name) .. "task.lua", "t"))()
end

local function owners(set)
  local owner = {}
  for _, s in ipairs(set) do
    for _, move in ipairs(s.moves) do
      owner[move] = owner[move] or {}
      table.insert(owner[move], s.name)
    end
  end
  return owner
end

local loaded = {}
for i, set in ipairs(sets) do loaded[i] = kb.strategies(root .. "strategies/" .. set.folder) end
local six, eleven = owners(loaded[1]), owners(loaded[2])

for i, set in ipairs(sets) do
  t.test(set.folder .. ": the strategies of the paper, each with its target", function()
    t.equal(#loaded[i], #set.names)
    for k, s in ipairs(loaded[i]) do
      t.equal(s.name, set.names[k])
      if i == 1 then t.equal(s.target, targets[s.name], s.name) end
    end
  end)

  t.test(set.folder .. ": a prompt is a text", function()
    for _, s in ipairs(loaded[i]) do assert(#s.prompt > 200, s.name) end
  end)

  t.test(set.folder .. ": no parameter has two owners", function()
    for name, list in pairs(owners(loaded[i])) do t.equal(#list, 1, name) end
  end)
end

t.test("a row that is held gets threads by its length, whatever is not for held rows", function()
  local schedule = schedule_of "layernorm"
  local p = points.first(schedule)
  p.fuse_passes, p.vector = "hold", 4
  local text = schedule.emit(p)
  t.contains(text, "block=(min(1024, 32*cdiv(cols, 512)), 1)")
  p.unroll, p.sweep = 4, "backward"
  t.equal(schedule.emit(p), text)
end)

t.test("both sets own the same parameters", function()
  for name in pairs(six) do assert(eleven[name], name .. " is missing in cuda_v1") end
  for name in pairs(eleven) do assert(six[name], name .. " is missing in cuda") end
end)

-- Kernels that a source defines.
local function entries(text)
  local out = {}
  for line in text:gsub("__launch_bounds__%b()%s+", ""):gmatch "__global__ void ([%w_]+)%(" do
    out[line] = true
  end
  return out
end

-- Names that launch lines may use beside a task's own.
local plan_words = { cdiv = true, min = true, max = true, sm_count = true }

local function check_plan(text, task)
  local known, launches = {}, 0
  for _, arg in ipairs(task.args) do known[arg[1]] = true end
  local defined = entries(text)
  for line in text:gmatch "[^\n]+" do
    local scratch = line:match "^// kb: scratch ([%a_][%w_]*) %w+%b[]$"
    if scratch then known[scratch] = true end
    local kernel, rest = line:match "^// kb: launch ([%a_][%w_]*) (.*)$"
    if kernel then
      launches = launches + 1
      assert(defined[kernel], "no kernel " .. kernel)
      local grid, block = rest:match "^grid=(%b()) block=(%b())"
      local args = rest:match "args=(%b())$"
      assert(grid and block and args, line)
      for word in (grid .. block .. args .. (rest:match "shared=(%S+)" or ""))
                  :gmatch "[%a_][%w_]*" do
        assert(known[word] or plan_words[word], word .. " in " .. line)
      end
    elseif line:find("kb:", 1, true) then
      assert(scratch, line)
    end
  end
  assert(launches >= 1, "no launch line")
end

for _, name in ipairs(tasks()) do
  local schedule, task = schedule_of(name), task_of(name)

  t.test(name .. ": every parameter has an owner, every one of the six a parameter", function()
    local used = {}
    for _, parameter in ipairs(schedule.parameters) do
      assert(six[parameter[1]], parameter[1] .. " is owned by nobody")
      assert(eleven[parameter[1]], parameter[1] .. " is owned by nobody in cuda_v1")
      assert(#parameter[2] >= 2, parameter[1] .. " has one value")
      used[six[parameter[1]][1]] = true
      local seen = {}
      for _, value in ipairs(parameter[2]) do
        assert(not seen[value], parameter[1] .. " has a value twice")
        seen[value] = true
      end
    end
    for _, s in ipairs(sets[1].names) do assert(used[s], s .. " owns nothing") end
  end)

  t.test(name .. ": at least 300 valid points are different kernels", function()
    local rng, seen, count = core.rng(1), {}, 0
    for _ = 1, 3000 do
      local p = points.random(schedule, rng)
      local text = schedule.valid(p) and schedule.emit(p)
      if text and not seen[text] then
        seen[text] = true
        count = count + 1
        if count == 300 then return end
      end
    end
    error(("only %d in 3000 random points"):format(count))
  end)

  t.test(name .. ": from some point each of the six reaches another kernel", function()
    local rng, changed = core.rng(7), {}
    for _ = 1, 60 do
      local p = points.random(schedule, rng)
      local text = schedule.valid(p) and schedule.emit(p)
      for _, parameter in ipairs(text and schedule.parameters or {}) do
        local who, key = six[parameter[1]][1], parameter[1]
        local kept = p[key]
        for _, value in ipairs(changed[who] and {} or parameter[2]) do
          p[key] = value
          if schedule.valid(p) and schedule.emit(p) ~= text then changed[who] = true end
        end
        p[key] = kept
      end
    end
    for _, s in ipairs(sets[1].names) do assert(changed[s], s) end
  end)

  t.test(name .. ": text is reproducible and its plan launches what it defines", function()
    local again, rng, p = schedule_of(name), core.rng(3), points.first(schedule)
    assert(schedule.valid(p) == true, "the first values are not valid")
    for _ = 1, 25 do
      if schedule.valid(p) then
        local before = {}
        for k, v in pairs(p) do before[k] = v end
        local text = schedule.emit(p)
        t.equal(again.emit(p), text)
        t.equal(p, before, "emit changed its argument")
        check_plan(text, task)
      end
      p = points.random(schedule, rng)
    end
  end)

  t.test(name .. ": baseline and reference have plans, the reference is float64", function()
    for _, which in ipairs { "baseline", "reference" } do
      local text = assert(core.system.read_file(folder(name) .. task[which].cuda))
      check_plan(text, task)
      if which == "reference" then t.contains(text, "double *") end
    end
  end)
end

t.finish()
