-- Honest Triton kernels of kinds that a judge might take for something else: each is ok beside the
-- untouched file of its folder's name. On Triton's interpreter, where those that need a GPU must
-- pass the look at their syntax; with KERNELBAND_TEST_GPU=1 all on the first GPU.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local changes = require "changes"
local core = require "kernelband.core"
local kb = require "kernelband"
local interpreter = require "interpreter"
local python = require "kernelband.triton.python"
local worker = require "kernelband.worker"

local on_gpu = os.getenv "KERNELBAND_TEST_GPU" == "1"
local root = "tests/candidates/honest_triton"

local function of(task)
  local list = changes.list(root .. "/" .. task.name, task.source)
  for _, file in ipairs(assert(core.system.list(root .. "/" .. task.name))) do
    local name = file:match "^(.+)%.py$"
    if name then
      local text = assert(core.system.read_file(("%s/%s/%s"):format(root, task.name, file)))
      list[#list + 1] = { name = name, head = text:match "^#[^\n]*\n", source = text }
    end
  end
  return list
end

local judged = 0
for _, task in ipairs(kb.import.tritonbench(root)) do
  task.job.call_s = 20
  task.worker_argv = function(device)
    return { "/usr/bin/env", on_gpu and "A=1" or "TRITON_INTERPRET=1", interpreter,
             python.worker, "serve", device, python.inject() }
  end
  local evaluator = worker.start { task = task, device = "triton:0", workers = 1 }
  t.test(task.name .. ", untouched, is ok", function()
    local b = evaluator.baseline()
    t.equal(b.verdict, "ok", b.reason)
  end)
  for _, c in ipairs(of(task)) do
    t.test(("%s of %s is ok"):format(c.name, task.name), function()
      local out = assert(evaluator.evaluate({ source = c.source }, {}))
      local needs_gpu = not on_gpu and c.head:find "\n# gpu: "
      t.equal(out.verdict, needs_gpu and "launch_failed" or "ok", out.reason)
      judged = judged + 1
    end)
  end
  evaluator.close()
end

t.test("there are as many as there were", function() t.equal(judged >= 9, true, judged) end)
t.finish()
