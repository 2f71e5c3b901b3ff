-- Whole-evaluation time of a warm host-code candidate, from the question to its answer:
-- operators of a TritonBench checkout, each with candidates that differ in one meta-parameter,
-- so that every one is compiled.
--   kernelband run tests/bench/gpu/bench_triton.lua DIR [NAME,NAME ..] [EACH]
-- EACH: candidates that are judged ok, an operator; of up to four more that are not.
local core = require "kernelband.core"
local kb = require "kernelband"
local lists = require "kernelband.base.lists"
local loop = require "kernelband.base.loop"
local worker = require "kernelband.worker"

local names = arg[2] ~= "" and arg[2]
  or "softmax_triton1,rms_norm_triton,layer_norm_triton,swiglu_fwd,add_example,matmul_kernel,"
  .. "relu_triton_kernel,rope_embedding,cross_entropy1,l2_norm_triton1,kldiv_triton,"
  .. "matrix_transpose,attn_fwd_causal,chunk_cumsum_vector,fused_rotary_embedding,"
  .. "int8_quantization,mean_reduction,quantize_global,var_len_copy,sin_kernel"
local each = math.tointeger(tonumber(arg[3] or "3"))

local function sources(task)
  local schedule, out, most = task.schedule, {}, each + 4
  if not schedule then
    for i = 1, most do out[i] = task.source .. ("\n# once more, %d\n"):format(i) end
    return out
  end
  local first = {}
  for _, p in ipairs(schedule.parameters) do first[p[1]] = p[2][1] end
  for turn = 2, 4 do
    for _, p in ipairs(schedule.parameters) do
      if p[2][turn] and #out < most then
        local point = {}
        for k, v in pairs(first) do point[k] = v end
        point[p[1]] = p[2][turn]
        out[#out + 1] = schedule.emit(point)
      end
    end
  end
  return out
end

local function where(seconds)
  local out = {}
  for _, name in ipairs { "build", "check", "ahead", "wait", "inputs", "shapes", "time",
                         "count" } do
    if seconds[name] then out[#out + 1] = ("%s %.2f"):format(name, seconds[name]) end
  end
  return table.concat(out, " ")
end

local medians, all = {}, {}

local function judge(name, task, e)
  local ok, baseline = pcall(e.baseline)
  if not ok or not baseline or baseline.verdict ~= "ok" then
    print(("%-28s %s"):format(name, ok and baseline and baseline.reason or tostring(baseline)))
    return
  end
  local took, best = {}, {}
  for i, shape in ipairs(baseline.shapes) do best[i] = shape.time_ns end
  for _, source in ipairs(sources(task)) do
    if #took == each then break end
    local begun = core.system.now_ns()
    local out = e.evaluate({ source = source }, { best_times_ns = best })    -- as a search asks
    if not out then break end
    local s = (core.system.now_ns() - begun) / 1e9
    print(("%-28s %-13s %5.2f s  %s  %s"):format(name, out.verdict, s,
      where(out.seconds or {}), (tostring(out.reason or ""):match "[^\n]*"):sub(1, 160)))
    if out.verdict == "ok" then
      took[#took + 1] = s
      all[#all + 1] = s
    end
  end
  if #took > 0 then medians[#medians + 1] = core.stats.median(took) end
end

-- Several operators are opened side by side, which takes far longer than their candidates do; they
-- are judged one after another, once all are open.
local list, at_once = lists.words(names, "[^,]+"), 5
for first = 1, #list, at_once do
  local L, open = loop.new(), {}
  for i = first, math.min(first + at_once - 1, #list) do
    local task = kb.import.tritonbench(arg[1], { only = { list[i] } })[1]
    if task.perf_missing then print(list[i] .. ": no performance script: its tests are timed") end
    open[#open + 1] = { list[i], task,
                        worker.start { task = task, device = "triton:0", workers = 1, loop = L } }
  end
  for _, o in ipairs(open) do pcall(o[3].baseline) end
  for _, o in ipairs(open) do
    judge(o[1], o[2], o[3])
    io.stdout:flush()
    o[3].close()
  end
  if core.system.interrupts() > 0 then break end      -- what was measured is told all the same
end
if #medians > 0 then
  print(("median of %d operators %.2f s, of all %d candidates judged ok %.2f s"):format(#medians,
    core.stats.median(medians), #all, core.stats.median(all)))
end
