local t = require "harness"
local kb = require "kernelband"
local prompt = require "kernelband.prompt"

local task = kb.task "examples/tasks/matmul"
local tiling = kb.strategy "strategies/c/tiling.lua"
local parent = {
  id = 3, source = "void matmul(void) { }\n", time_ns = 12500, speedup = 4,
  phi = { 0.5, 0.25, 0, 0, 0, 0, 0, 0, 0 },
  phi_kind = { "measured", "derived", "missing", "missing", "missing", "missing", "missing",
               "missing", "missing" },
  h = { sm = 12, dram = 71, l2 = 0 },
  h_kind = { sm = "derived", dram = "measured", l2 = "missing" },
}
local device = { name = "a CPU", language = "c", compiler = "gcc 12", flags = "-O3", sm_count = 2,
                 l2_bytes = 2 << 20, memory_bytes = 0, arch = 0,
                 roofline = { f32_flops_per_s = 2.5e11, dram_bytes_per_s = 4.6e10,
                              isa = "avx512f" } }

local function ask(overrides, ctx, dev)
  return prompt.new(task, overrides, dev or device):propose(parent, tiling, ctx or {})
end

t.test("the stable part tells task, machine and contract", function()
  local q = ask()
  t.contains(q.system, "C kernels for CPUs")
  t.contains(q.stable, "matmul: matrix product")
  t.contains(q.stable, "(const float *a, const float *b, float *c, int32_t m, int32_t n, "
                       .. "int32_t k)")
  t.contains(q.stable, "m=512 k=512 n=512")
  t.contains(q.stable, "void matmul_f64")
  t.contains(q.stable, "- a CPU")
  t.contains(q.stable, "second-level cache: 2 MiB")
  t.contains(q.stable, "fp32, measured here: 250 Gflop/s")
  t.contains(q.stable, "widest vector instructions: avx512f")
  t.contains(q.stable, "// kb: tune BLOCK 64 32 128")
  assert(not q.stable:find("shared memory", 1, true))
end)

t.test("held-out shapes are not told", function()
  assert(not ask().text:find("127", 1, true))
end)

t.test("the fresh part tells kernel, profile, history, strategy", function()
  local q = ask(nil, { best = { id = 9, speedup = 8 }, history = {
    { strategy = "fusion", verdict = "ok", speedup = 4.5 },
    { strategy = "tiling", verdict = "build_failed", reason = "error: x\ny" } } })
  t.contains(q.fresh, "void matmul(void) { }")
  t.contains(q.fresh, "It takes 12.5 us now. That is 4.00 times as fast as the first version.")
  t.contains(q.fresh, "It is held back by memory, which is at 71 % of its peak.")
  t.contains(q.fresh, "- 50 % accesses that hit a cache (measured)")
  assert(not q.fresh:find("spills", 1, true))
  t.contains(q.fresh, "- fusion: worked, 4.50 times as fast as the first version")
  t.contains(q.fresh, "- tiling: build_failed: error: x y")
  t.contains(q.fresh, "The best kernel found so far is 8.00 times")
  t.contains(q.fresh, "cache tiling (loop blocking)")
  t.contains(q.fresh, "It runs in 12.5 us now.")
  t.equal(q.text, q.system .. "\n\n" .. q.stable .. q.fresh)
end)

t.test("no fact of a machine is told that is not known", function()
  local q = prompt.new(task, nil, nil):propose(parent, tiling, {})
  assert(not q.stable:find("# Machine", 1, true))
end)

t.test("the machine is looked at once, so that the stable part stays the same", function()
  local now = { name = "one" }
  local p = prompt.new(task, nil, function() return now end)
  local a = p:propose(parent, tiling, {})
  now = { name = "two" }
  t.equal(p:propose(parent, tiling, {}).stable, a.stable)
end)

t.test("every part can be replaced, changed or left out", function()
  local q = ask { system = "Be brief.", hardware = false,
    contract = function(about) return about.default .. "\nBe careful." end,
    strategy = function(about)
      return about.strategy.name .. " on kernel " .. about.kernel.id .. " of " .. about.task.name
    end, ask = function() return nil end }
  t.equal(q.system, "Be brief.")
  assert(not q.stable:find("# Machine", 1, true))
  t.contains(q.stable, "Be careful.")
  t.contains(q.fresh, "tiling on kernel 3 of matmul")
  assert(not q.fresh:find("Give the whole", 1, true))
end)

t.test("a part that is no text is an error that names its line", function()
  t.raises("spec_prompt.lua:", ask, { ask = function() return 5 end })
  t.raises("prompt.ask must return a text or nothing, got 5", ask,
           { ask = function() return 5 end })
end)

t.test("a repair shows the source, what failed and the log", function()
  local p = prompt.new(task, nil, device)
  local q = p:repair({ source = "int broken" }, { verdict = "build_failed", reason = "error: ';'",
                     log = "m.c:1:11: error: ';'\n   1 | int broken" }, tiling)
  t.contains(q.fresh, "int broken\n```")
  t.contains(q.fresh, "It does not compile.")
  t.contains(q.fresh, "m.c:1:11")
  t.contains(q.fresh, "keep the idea (tiling)")
  t.equal(q.stable, ask().stable)
  local long = p:repair({ source = "x" }, { verdict = "wrong", reason = ("y"):rep(1e6) }, tiling)
  assert(#long.fresh < 6000)
end)

t.test("a fence in a source does not end the block it stands in", function()
  local q = prompt.new(task):repair({ source = "// ```\n// ````\n" }, { verdict = "wrong" })
  t.contains(q.fresh, "`````c\n// ```\n// ````\n`````")
end)

t.test("bytes that are no UTF-8 do not reach a request", function()
  local q = prompt.new(task):repair({ source = "a\xff\0b" }, { verdict = "wrong" })
  assert(utf8.len(q.text))
end)

t.test("for CUDA the launch plan is explained", function()
  local cuda = require("kernelband.task").for_language(kb.task "examples/tasks/softmax", "cuda")
  local q = prompt.new(cuda, nil, { name = "a GPU", language = "cuda", compiler = "NVRTC 13",
    flags = "", arch = 90, sm_count = 132, sm_threads = 2048, sm_registers = 65536,
    sm_shared_bytes = 233472, block_shared_bytes = 232448, l2_bytes = 52428800 })
    :propose(parent, kb.strategy "strategies/cuda/tiling.lua", {})
  t.contains(q.system, "CUDA kernels")
  t.contains(q.stable, "// kb: launch softmax grid=(cdiv(n,256)) block=(256) shared=0 "
                       .. "args=(x, y, rows")
  t.contains(q.stable, "compute capability 9.0")
  t.contains(q.stable, "132 multiprocessors, each with 2048 threads, 65536 registers and 228 KiB")
  t.contains(q.stable, "at most 227 KiB of shared memory a block")
  t.contains(q.fresh, "```cuda\n")
end)

t.finish()
