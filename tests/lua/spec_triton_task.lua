-- Triton tasks and device code without a Python: what is refused and told before one is asked.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"
local kb = require "kernelband"
local compile = require "kernelband.triton.compile"
local plan = require "kernelband.task.plan"
local python = require "kernelband.triton.python"
local kb_task = require "kernelband.task"

local dir = t.folder()

local function import(options)
  local tasks = kb.import.tritonbench("tests/triton", options)
  for _, task in ipairs(tasks) do
    if task.name == "scaled_add" then return task end
  end
end

t.test("no interpreter: the task says what to do", function()
  local task = import { python = "/nowhere/python3" }
  local ok, why = pcall(task.worker_argv, "triton:0")
  t.equal(ok, false)
  t.contains(why, "KERNELBAND_PYTHON")
  t.equal(task.schedule, false)
  t.contains(task.no_schedule, "/nowhere/python3")
  why = t.raises("no schedule", function()
    kb.search { task = task, budget = { steps = 1 }, out = dir .. "/none", quiet = true }
  end)
  t.contains(why, "/nowhere/python3")
  t.contains(why, "KERNELBAND_PYTHON")
  local found, text = python.probe "/nowhere/python3"
  t.equal(found, nil)
  t.contains(text, "/nowhere/python3")
end)

t.test("a device that is not Triton's is refused by name", function()
  t.raises("triton:0", function()
    kb.search { task = import {}, device = "cpu", budget = { steps = 1 } }
  end)
end)

t.test("six strategies, each with a target and a text", function()
  local set = kb.strategies "strategies/triton"
  local names = {}
  for i, s in ipairs(set) do
    names[i] = s.name .. ":" .. s.target
    assert(#s.prompt > 200, s.name)
  end
  t.equal(table.concat(names, " "), "access_layout:dram fusion:dram pipeline:sm reordering:sm "
    .. "tiling:l2 vectorization:dram")
end)

t.test("a model is asked for Python, and its answer is read as such", function()
  local q = require("kernelband.generator.prompt").new(import {}, {}, nil).propose(
    { id = 1, source = import {}.source, speedup = 1, time_ns = 1000, note = {} },
    kb.strategies "strategies/triton"[5], { history = {} })
  t.contains(q.system, "Triton")
  t.contains(q.text, "```python")
  t.equal(q.text:find("C (gnu11)", 1, true), nil)
  local read = require("kernelband.llm.answer").read
  local answer = "Here:\n\n```python\nimport triton\n\n\n@triton.jit\ndef k(x): pass\n```\n"
  t.contains(read(answer, { language = "triton", entry = "k" }), "@triton.jit")
  local none, why = read("```python\nx = 1\n```", { language = "triton", entry = "k" })
  t.equal(none, nil)
  t.contains(why, "@triton.jit kernel")
end)

-- Device code alone ----------------------------------------------------------------

local softmax = kb_task.for_language(kb_task.load "examples/tasks/softmax", "cuda")
local session = { task = softmax, machine = { arch = 90, sm_count = 132 }, planner = plan,
                  language = "cuda" }

local line = "# kb: triton rows_softmax grid=(rows) args=(x, y, cols) BLOCK=8192 warps=8\n"
local body = [[
import triton
import triton.language as tl

UNUSED = tl.constexpr(3)


@triton.jit
def rows_softmax(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * cols + at, e / tl.sum(e, axis=0), mask=at < cols)
]]

local function refused(source, part, code)
  local k, why, got = compile.build(session, source)
  t.equal(k, nil)
  t.contains(why, part)
  t.equal(got, code)
end

t.test("a cubin is read from its hexadecimal digits", function()
  t.equal(compile.from_hex "000102ff", "\0\1\2\255")
  t.equal(compile.from_hex "68656c6c6f", "hello")
  t.equal(compile.from_hex "6B623B", "kb;")
  t.equal(compile.from_hex "", "")
end)

t.test("bytes that are no cubin are refused with a reason", function()
  local entries, why, code = core.cubin "nothing"
  t.equal(entries, nil)
  t.equal(type(why), "string")
  t.equal(code, "EINVAL")
end)

t.test("an invalid plan line, or a second one, is reported", function()
  refused("# kb: triton k\n" .. body, "grid=(..)", "EPLAN")
  refused(line:gsub("warps=8", "warps=many") .. body, "many", "EPLAN")
  refused(line .. line .. body, "2 lines", "EPLAN")
  refused(body, "0 lines", "EPLAN")
end)

t.finish()
