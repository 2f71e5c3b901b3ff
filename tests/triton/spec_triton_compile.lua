-- The device-only tier without a GPU: what a source may hold, and its cubin: make check-triton.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
require "interpreter"
local core = require "kernelband.core"
local compile = require "kernelband.triton.compile"
local plan = require "kernelband.task.plan"
local task = require "kernelband.task"

local softmax = task.for_language(task.load "examples/tasks/softmax", "cuda")
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

t.test("anything but kernels and constants is refused before it is run", function()
  for _, extra in ipairs {
    "import os\n", "from os import path\n", "print(1)\n", "x = open('/etc/passwd')\n",
    "def f(x):\n    return x\n",
    "@triton.autotune(configs=[], key=[])\n@triton.jit\ndef f(x): pass\n",
    "@triton.jit\ndef f(x=print(1)): pass\n", "class A: pass\n", "for i in range(3): pass\n",
    "@triton.jit\ndef f(x):\n    x.__globals__\n", "y = tl.constexpr(print(1))\n",
  } do
    refused(line .. body .. extra, "line", "EDENIED")
  end
end)

t.test("a kernel becomes a cubin that may be launched, with its resources", function()
  local k = assert(compile.build(session, line .. body))
  t.equal(#k.entries, 1)
  t.equal(k.entries[1].name, "rows_softmax")
  t.equal(k.entries[1].registers > 16, true)
  t.equal(k.entries[1].params >= 3, true)
  local r = assert(plan.resolve(k.plan, softmax, softmax.shapes.timed[1], { sm_count = 132 }))
  t.equal(r.launches[1].block[1], 256)
  t.equal(r.launches[1].shared > 0, true)
  t.equal(#r.launches[1].args, k.entries[1].params)
end)

t.test("the device-only candidate of the tests compiles", function()
  local k = assert(compile.build(session, (assert(core.system.read_file
    "tests/triton/softmax_device.py"))))
  t.equal(k.entries[1].local_bytes, 0)
end)

t.test("a kernel that asks the time of day, or for assembly, is refused", function()
  local asks = [[

@triton.jit
def clock(x):
    return tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64,
                                     is_pure=False, pack=1)
]]
  refused(line .. body .. asks, "inline_asm_elementwise", "EDENIED")
  refused(line .. body:gsub("row = .-\n", "row = tl.extra.cuda.globaltimer()\n"), "globaltimer",
          "EDENIED")
end)

t.test("arguments that do not fit the kernel are told by name", function()
  refused(line:gsub(", cols", "") .. body, "passes no cols to rows_softmax", "EBUILD")
  refused(line:gsub("cols%)", "cols, rows)") .. body, "passes more", "EBUILD")
  refused(line:gsub("rows_softmax", "other") .. body, "no @triton.jit function other", "EBUILD")
  refused(line .. body:gsub("tl.max", "tl.maxx"), "maxx", "EBUILD")
end)

t.finish()
