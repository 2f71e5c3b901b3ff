-- Published answers of models to TritonBench-G (repository thunlp/TritonBench): code is taken from
-- every answer that holds a Triton kernel, the others have a reason. The checkout is the user's:
--   kernelband run tests/bench/tritonbench_answers.lua CHECKOUT
local answer = require "kernelband.llm.answer"
local core   = require "kernelband.core"
local reply  = require "kernelband.llm.reply"

local checkout = arg[1]
if not checkout then
  print "tritonbench_answers: name a checkout of thunlp/TritonBench: skipped"
  return
end
local folder = checkout .. "/LLM_generated/Bench_G_general_purpose"
local models = { "gpt-4o", "DeepSeek-R1", "Qwen2.5-72B-Instruct" }
local missed = 0

local function read(name)
  local n, got, none, reasons = 0, 0, 0, {}
  for line in assert(core.system.read_file(folder .. "/" .. name)):gmatch "[^\n]+" do
    local text = reply.text(assert(reply.decode(line)).predict) or ""
    local source, why = answer.read(text, { language = "triton", entry = "", finish = "stop" })
    local holds = ("\n" .. text):find "\n%s*@triton%.jit" ~= nil
    n = n + 1
    if source then got = got + 1 else
      none = none + 1
      why = why:gsub(":.*", "")
      reasons[why] = (reasons[why] or 0) + 1
      if holds then
        missed = missed + 1
        if missed < 4 then print(("  missed: line %d: %s\n%s"):format(n, why, text:sub(1, 300))) end
      end
    end
  end
  local list = {}
  for why, times in pairs(reasons) do list[#list + 1] = ("%d %s"):format(times, why) end
  table.sort(list)
  print(("%-40s %4d answers, %4d with code, %3d without%s"):format(name, n, got, none,
        #list > 0 and ": " .. table.concat(list, "; ") or ""))
end

for _, model in ipairs(models) do
  for _, name in ipairs(assert(core.system.list(folder))) do
    if name:find(model, 1, true) and name:find "%.jsonl$" then read(name) end
  end
end
if missed > 0 then error(("%d answers hold a kernel that was not taken"):format(missed), 0) end
