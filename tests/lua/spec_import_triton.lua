-- The importers of TritonBench and KernelBench, on small made-up checkouts.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local kb = require "kernelband"

local dir = t.folder()
local separator = ("#"):rep(146)

local function write(name, text)
  local path = dir .. "/" .. name
  os.execute(("mkdir -p '%s'"):format(path:match "^(.*)/"))
  assert(core.system.write_file(path, text))
  return path
end

local kernel = "import torch\n\ndef op(x):\n    return x\n"
local test = "\ndef test_op():\n    return {'a': op(1)}\n\nresult_gold = test_op()\n"

local function names(tasks)
  local out = {}
  for i, task in ipairs(tasks) do out[i] = task.name end
  return table.concat(out, " ")
end

t.test("operators of the published layout have source, tests, shapes and instruction", function()
  write("tb/data/TritonBench_G_v1/one.py", kernel .. separator .. "\n" .. test)
  write("tb/data/TritonBench_G_v1/two.py", kernel .. separator .. "\n" .. test)
  write("tb/data/TritonBench_G_v1.json", [[
    [ { "file": "one.py", "comp_instru": "  Adds.\nMore.", "simp_instru": "short" } ] ]])
  write("tb/performance_metrics/perf_G/golden_metrics/one_perf.py",
        "for i in range(2, 9):\n    pass\n")
  write("tb/performance_metrics/perf_T/golden_metrics/one_perf.py", "wrong = 1\n")
  write("tb/performance_metrics/perf_T/golden_metrics/other_perf.py", "wrong = 1\n")
  local tasks = kb.import.tritonbench(dir .. "/tb")
  t.equal(names(tasks), "one two")
  t.equal(tasks[1].source, kernel)
  t.equal(tasks[1].job.tests, test)
  t.equal(tasks[1].summary, "Adds.")
  t.equal(tasks[1].instruction, "  Adds.\nMore.")
  t.contains(tasks[1].job.perf, "range(2, 9)")
  t.equal(tasks[1].language, "triton")
  t.equal(tasks[2].perf_missing, true)
  t.equal(#tasks.skipped, 0)
end)

t.test("GEAK-eval's layout is found, its golden_metrics before its other copies", function()
  local root = "geak/geak_eval/data/TritonBench/"
  write(root .. "data/TritonBench_G_v1/one.py", kernel .. separator .. "\n" .. test)
  write(root .. "data/TritonBench_G_v1/__init__.py", "")
  write(root .. "performance_metrics/perf_G/golden_metrics/one_perf.py", "golden = 1\n")
  write(root .. "performance_metrics/perf_G/golden_metrics_refactor/one_perf.py", "other = 1\n")
  local tasks = kb.import.tritonbench(dir .. "/geak")
  t.equal(names(tasks), "one")
  t.contains(tasks[1].job.perf, "golden")
end)

t.test("a plain folder of kernels, perf scripts and instructions by source will do", function()
  write("own/kernels/one.py", kernel .. separator .. "\n" .. test)
  write("own/perf/one_perf.py", "x = 1\n")
  write("own/instructions.json", ([[ [ { "instruction": "Do it.", "output": %q } ] ]])
    :format(kernel):gsub("\\\n", "\\n"))
  local tasks = kb.import.tritonbench(dir .. "/own")
  t.equal(names(tasks), "one")
  t.equal(tasks[1].instruction, "Do it.")
end)

t.test("other line ends and a byte order mark change nothing", function()
  local text = "\239\187\191" .. kernel .. separator .. "\n" .. test
  write("crlf/one.py", (text:gsub("\n", "\r\n")))
  local tasks = kb.import.tritonbench(dir .. "/crlf")
  t.equal(tasks[1].source, kernel)
  t.equal(tasks[1].job.tests, test)
end)

t.test("a comment line of another width is no separator where there is a real one", function()
  write("wide/one.py", kernel .. ("#"):rep(103) .. "\nx = 1\n" .. separator .. "\n" .. test)
  local task = kb.import.tritonbench(dir .. "/wide")[1]
  t.contains(task.source, "x = 1")
  t.equal(task.job.tests, test)
end)

t.test("files without separator or test are skipped, with the reason", function()
  write("bad/good.py", kernel .. separator .. "\n" .. test)
  write("bad/no_separator.py", kernel)
  write("bad/no_test.py", kernel .. separator .. "\n\n\n")
  write("bad/only_comments.py", kernel .. separator .. "\n# nothing here\n")
  write("bad/bad-name.py", kernel .. separator .. "\n" .. test)
  local tasks = kb.import.tritonbench(dir .. "/bad")
  t.equal(names(tasks), "good")
  local why = {}
  for _, s in ipairs(tasks.skipped) do why[s.name] = s.why end
  t.contains(why.no_separator, "146")
  t.contains(why.no_test, "no test")
  t.contains(why.only_comments, "no test")
  t.contains(why["bad-name"], "Python module")
end)

t.test("a folder without operators, a missing one and an unknown name are reported", function()
  write("empty/readme.txt", "nothing")
  t.raises("146", function() kb.import.tritonbench(dir .. "/empty") end)
  t.raises("no folder", function() kb.import.tritonbench(dir .. "/nowhere") end)
  t.raises("no operator two", function()
    kb.import.tritonbench(dir .. "/wide", { only = { "two" } })
  end)
  t.raises("only", function() kb.import.tritonbench(dir .. "/wide", { ony = {} }) end)
end)

t.test("KernelBench's problems come in the order of their numbers", function()
  local model = "import torch\nclass Model(torch.nn.Module):\n    pass\n"
  local inputs = "def get_inputs():\n    return []\ndef get_init_inputs():\n    return []\n"
  write("kbench/KernelBench/level1/10_Last.py", model .. inputs)
  write("kbench/KernelBench/level1/2_First.py", model .. inputs)
  write("kbench/KernelBench/level1/3_Broken.py", model)
  local tasks = kb.import.kernelbench(dir .. "/kbench", 1)
  t.equal(names(tasks), "kb_2_First kb_10_Last")
  t.equal(tasks[1].job.kind, "kernelbench")
  t.contains(tasks.skipped[1].why, "get_inputs")
  t.raises("level2", function() kb.import.kernelbench(dir .. "/kbench", 2) end)
  t.raises("level", function() kb.import.kernelbench(dir .. "/kbench", "one") end)
end)

t.finish()
