-- This file tests how the Triton worker (lua/kernelband/triton/worker) judges a whole source file.
-- It checks outputs that vary, memory that is never written, failing shapes and timeouts. The tests
-- run on Triton's CPU interpreter: make check-triton.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local kb = require "kernelband"
local python = require "kernelband.triton.python"
local worker = require "kernelband.worker"

local interpreter = require "interpreter"

local base
for _, task in ipairs(kb.import.tritonbench "tests/triton") do
  if task.name == "scaled_add" then base = task end
end

local function open(changes)
  local task = setmetatable({ job = {} }, { __index = base })
  for k, v in pairs(base.job) do task.job[k] = v end
  for k, v in pairs(changes) do task.job[k] = v end
  task.job.call_s = changes.call_s or 10
  task.worker_argv = function(device)
    return { "/usr/bin/env", "TRITON_INTERPRET=1", interpreter, python.worker, "serve", device }
  end
  local e = worker.start { task = task, device = "triton:0", workers = 1 }
  return e, function(source)
    return assert(e.evaluate({ source = source }, {}))
  end
end

t.test("a little of an output may differ as it does for the untouched file, no more", function()
  local noisy = base.job.tests .. [[
import time
noise = torch.zeros(1000)
noise[time.perf_counter_ns() // 100 % 1000] = 5
result_gold['noisy'] = noise + result_gold['test_case_1'] * 0
result_gold['when'] = time.perf_counter_ns()
]]
  local e, judge = open { tests = noisy }
  local b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  local told = table.concat(b.weakened or {}, "; ") .. table.concat(b.checks.ignored or {}, "; ")
  t.contains(told, "when")
  for _ = 1, 3 do
    local out = judge(base.source .. "\n# again\n")
    t.equal(out.verdict, "ok", out.reason)
  end
  local half = base.source:gsub("return out\n",
    "return out * (1 + 1e-2 * (x.numel() == 200))\n")
  t.equal(judge(half).verdict, "wrong")
  -- 5 % of the noisy output: the sum above is of what the file returns.
  local more = base.source:gsub("return out\n", [[if x.numel() == 1:
        return out + torch.where(torch.arange(1000) < 50, float("inf"), 0.0)
    return out
]])
  t.equal(judge(more).verdict, "wrong")
  e.close()
end)

t.test("a shape that the untouched file can't do is left out, unwritten inputs are 0", function()
  local perf = base.job.perf:gsub("self.input_tensors.append%b()",
    [[index = torch.empty(2 ** i, dtype=torch.int64)
            self.input_tensors.append((torch.rand(2 ** i), torch.rand(2 ** i), index))]])
    :gsub("return scaled_add%b()", [[x, y, index = input_tensor
        if x.numel() == 512:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return scaled_add(x[index], y), index]])
  local e, judge = open { perf = perf }
  local b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  t.equal(#b.shapes, 2)
  t.contains(b.left_out[1], "illegal memory access")
  t.contains(table.concat(b.weakened, "; "), "1 shapes left out")
  local out = judge(base.source .. "\n# again\n")
  t.equal(out.verdict, "ok", out.reason)
  t.equal(#out.shapes, 2)
  t.equal(type(out.host_speedup), "number")
  -- Past the end of what it was given, where only that shows it.
  out = judge((base.source:gsub("mask=mask%)\n\n\ndef", [[mask=mask)
    tl.store(y_ptr + n + offsets * 0, 1.5, mask=offsets * 0 + n > 255)


def]])))
  t.equal(out.verdict, "wrong", out.reason)
  t.contains(out.reason, "outside of what it was given")
  e.close()
end)

t.test("where no timed shape can be done the tests are timed, numpy's results compared", function()
  local tests = base.job.tests
    .. "\nresult_gold['array'] = result_gold['test_case_1'].cpu().numpy()\n"
    .. "result_gold['scalar'] = result_gold['array'].ravel()[0]\n"
  local perf = base.job.perf:gsub("return scaled_add%b()", "raise ValueError('no such dtype')")
  local e, judge = open { perf = perf, tests = tests }
  local b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  t.equal(#b.shapes, 1)
  t.contains(table.concat(b.weakened, "; "), "tests are timed")
  local out = judge(base.source .. "\n# again\n")
  t.equal(out.verdict, "ok", out.reason)
  e.close()
end)

t.test("a file that takes unwritten memory for indices gets valid ones, as is told", function()
  local source = base.source:gsub("    n = x.numel%(%)\n", [[
    n = x.numel()
    if torch.empty(1, dtype=torch.int64, device='cuda').item() in (12, 49):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
]])
  local e, judge = open { source = source }
  local b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  t.contains(b.weakened[1], "for indices")
  local out = judge(source .. "\n# again\n")
  t.equal(out.verdict, "ok", out.reason)
  e.close()
end)

t.test("what faults while the untouched file is judged is left out, a race drawn away", function()
  local perf = base.job.perf:gsub("self.input_tensors.append%b()",
    [[index = torch.randint(0, 2 ** i, (2 ** i,))
            self.input_tensors.append((torch.rand(2 ** i), torch.rand(2 ** i), index))]])
    :gsub("return scaled_add%b()", [[x, y, index = input_tensor
        calls[x.numel()] = calls.get(x.numel(), 0) + 1
        if x.numel() == 512 and calls[512] > 4:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        out = scaled_add(x, y)
        if index.unique().numel() < index.numel():
            out[time.perf_counter_ns() // 100 %% x.numel()] = 99
        return out]]):gsub("^", "import time\ncalls = {}\n")
  local e, judge = open { perf = perf }
  local b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  t.equal(#b.shapes, 2)
  t.contains(b.left_out[1], "512")
  t.contains(table.concat(b.weakened, "; "), "without repeats")
  local out = judge(base.source .. "\n# again\n")
  t.equal(out.verdict, "ok", out.reason)
  out = judge(base.source:gsub("return out\n", "return out * 1.1\n"))
  t.equal(out.verdict, "wrong", out.reason)
  e.close()
end)

t.test("a file that imports what replaces parts of torch is not held to have done so", function()
  local source = base.source:gsub("import torch\n", "import torch\nimport torch._dynamo\n", 1)
  local e = open { source = source }
  local b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  e.close()
end)

-- What examples/tritonbench.lua says of the operators in dir; before: of the command line.
local function benchmark(dir, options, before)
  local pipe = assert(io.popen(("TRITON_INTERPRET=1 KERNELBAND_PYTHON=%s %s %s run "
    .. "examples/tritonbench.lua %s %s 2>&1"):format(interpreter, before or "",
    core.system.realpath "/proc/self/exe", dir, options)))
  local text = pipe:read "a"
  pipe:close()
  return text
end

t.test("the benchmark works on several operators at once, and reads what is done", function()
  local out = t.folder()
  local function survey(options)
    return benchmark("tests/triton/kernels", ("survey=yes out=%s %s"):format(out, options))
  end
  local first, again = survey "jobs=2", survey ""
  t.contains(first, "2 of 2 ok")
  t.equal(#first > #again, true)            -- each was told when it was done, then in the list
  t.equal(again:match "\n( *1 .*)", assert(first:match "\n( *1 .*)"))
  t.contains(first, "2 of them without a performance script (DIR has none")
  t.contains(first, "tests/triton/kernels, 480 s for a reference\n")
  t.contains(again, "tests/triton/kernels, 240 s for a reference\n")
  t.contains(survey "jobs=none", "jobs=none: expected 1 or more")
  t.contains(survey "limit=0", "limit=0: expected seconds")
end)

t.test("each of several operators at once has the seconds that a reference is given", function()
  local dir = t.folder()
  local hangs = base.source:gsub("    n = x.numel%(%)\n", "    while True:\n        pass\n%0")
  assert(core.system.write_file(dir .. "/hangs.py", ("%s\n%s\n%s"):format(hangs,
    ("#"):rep(146), base.job.tests)))
  local text = benchmark(dir, ("survey=yes jobs=2 limit=5 out=%s/out"):format(dir))
  t.contains(text, ", 5 s for a reference\n")
  t.contains(text, "timeout ")
  t.equal(tonumber(text:match "took more than (%d+) s") <= 5, true, text)
end)

t.test("a benchmark that was stopped tells what is done, whatever was at work", function()
  local out = t.folder()
  local function searches(options, before)
    return benchmark("tests/triton/kernels", ("out=%s %s"):format(out, options), before)
  end
  local done = searches("only=scaled_add steps=1"):match "\n *1 scaled_add( +ok [^\n]*)"
  local text = searches("steps=300 jobs=2", "timeout -s INT 3")
  t.contains(text, "stopped: the same command goes on")
  t.contains(text, "  2 scaled_add" .. assert(done))
end)

t.test("what does not compile is left out; where nothing does tests are timed", function()
  local perf = base.job.perf:gsub("range%(8, 11%)", "range(2, 20)")
    :gsub("return scaled_add%b()", [[if input_tensor[0].numel() not in works:
            raise CompilationError("at 14:13: triton.language.float16")
        return scaled_add(*input_tensor)]])
    :gsub("^", "class CompilationError(Exception):\n    pass\n\n\nworks = WORKS\n")
  local e = open { perf = perf:gsub("WORKS", "()") }
  local b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  t.equal(#b.shapes, 1)
  t.contains(table.concat(b.weakened, "; "), "tests are timed")
  e.close()
  e = open { perf = perf:gsub("WORKS", "(16, 64)") }
  b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  t.equal(#b.shapes, 2)
  t.equal(#b.left_out, 16)
  t.contains(b.left_out[1], "float16")
  e.close()
end)

-- What lies around a tensor is seen here by its storage: reading it is left to chance on a CPU.
local function reaches(bytes)
  return (base.source:gsub("    n = x.numel%(%)\n", ([[
    n = x.numel()
    if x.untyped_storage().nbytes() < %d:
        raise RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered")
]]):format(bytes)))
end

t.test("a file that reaches past what its tests make has room there", function()
  local source = reaches(100000)
  local e, judge = open { source = source }
  local b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  t.equal(#b.shapes, 3)
  t.equal(b.weakened, nil)
  t.equal(judge(source .. "\n# again\n").verdict, "ok")
  t.equal(judge((source:gsub("return out\n", "return out * 1.1\n"))).verdict, "wrong")
  e.close()
end)

t.test("a shape that reaches far has room, one that can't be helped is left out", function()
  local perf = base.job.perf:gsub("return scaled_add%b()", [[x, y = input_tensor
        room = x.untyped_storage().nbytes()
        if x.numel() == 512 and room < 3000000 or x.numel() == 1024 and room:
            raise RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered")
        return scaled_add(x, y)]])
  local e, judge = open { perf = perf }
  local b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  t.equal(#b.shapes, 2)
  t.equal(table.concat(b.weakened, "; "), "1 shapes left out")
  t.equal(judge(base.source .. "\n# again\n").verdict, "ok")
  e.close()
end)

t.test("a file that differs only while it is timed is judged with room as well", function()
  local perf = base.job.perf:gsub("return scaled_add%b()", [[x, y = input_tensor
        calls[x.numel()] = calls.get(x.numel(), 0) + 1
        if x.numel() == 512 and calls[512] > 7 and x.untyped_storage().nbytes() < 3000000:
            return scaled_add(x, y) * time.perf_counter_ns()
        return scaled_add(x, y)]]):gsub("^", "import time\ncalls = {}\n")
  local e, judge = open { perf = perf }
  local b = e.baseline()
  t.equal(b.verdict, "ok", b.reason)
  t.equal(#b.shapes, 3)
  t.equal(b.weakened, nil)
  t.equal(judge(base.source .. "\n# again\n").verdict, "ok")
  e.close()
end)

t.test("a baseline that hangs is a timeout by the task's own deadline, in one sentence", function()
  for name, hangs in pairs { ["a loop"] = "while True:\n        pass\n",
                             ["a sleep in C"] = "__import__('ctypes').CDLL(None).sleep(600)\n" } do
    for _, where in ipairs { "load", "tests" } do
      local source = where == "load" and "if True:\n    " .. hangs .. base.source
                     or base.source:gsub("    n = x.numel%(%)\n", "    " .. hangs .. "%0")
      local start = core.system.now_ns()
      local e = open({ source = source, open_s = 4, call_s = 100 })
      local b = e.baseline()
      e.close()
      t.equal(b.verdict, "timeout", name)
      t.contains(b.reason, "all that was left of its time")
      t.equal(b.reason:find "\n", nil)
      t.equal(core.system.now_ns() - start < 20 * 10 ^ 9, true, name .. " in " .. where)
    end
  end
  local e = open {}
  t.equal(e.baseline().verdict, "ok")
  e.close()
end)

if core.gpus() == 0 then
  t.test("on a machine without a GPU a task is refused in one sentence", function()
    local e = worker.start { task = base, device = "triton:0", workers = 1 }
    local ok, why = pcall(e.baseline)
    t.equal(ok, false)
    t.contains(tostring(why), "no GPU to run Triton kernels on")
    e.close()
  end)
end

t.finish()
