-- This file tests lua/kernelband/generator/prompt.lua, which writes the text that a model receives.
-- It checks the contents of each part, the repair text, and the options that replace a part.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local kb = require "kernelband"
local prompt = require "kernelband.generator.prompt"

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
                              isa = "avx512f", vector_bytes = 64, clock_hz = 2.9e9,
                              l1d_bytes = 48 << 10, l2_bytes = 2 << 20 } }

local function ask(overrides, ctx, dev)
  return prompt.new(task, overrides, dev or device).propose(parent, tiling, ctx or {})
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
  t.contains(q.stable, "caches of a core: L1d 48 KiB, L2 2 MiB\n")
  t.contains(q.stable, "peaks measured: f32 250 Gflop/s\n")
  t.contains(q.stable, "vectors: avx512f, 64 bytes, so 16 f32 lanes")
  t.contains(q.stable, "clock of the core as measured: 2.9 GHz")
  t.contains(q.stable, "m=512 k=512 n=512: 268 Mflop, at least 3.15 MB moved")
  t.contains(q.stable, "|c - r| <= 4 u |r| + min(8 sqrt(K), K) u s + t, u = 5.96e-08 (f32)")
  t.contains(q.stable, "K, terms summed into an element: 512, 192, 256 at the timed shapes")
  t.contains(q.stable, "// kb: tune BLOCK 64 32 128")
  assert(not q.stable:find("shared memory", 1, true))
end)

-- The limit of b:compare where the reference is 0, for the arrays and the bound of a room.
local function limit_at_zero(dtype, bound)
  local cpu <close> = assert(kb.core.device "cpu")
  local function array(kind)
    return assert(cpu:buffers({ { mode = "out", dtype = kind, count = 1 } }, 1))
  end
  local got <close> = array(dtype)
  local want <close> = array "f64"
  local seed = 0
  repeat
    seed = seed + 1
    want:fill(1, "denormal", seed)
  until want:get(1, 1) == 0
  got:poison(seed)
  local r = got:compare(1, 1, want, nil, bound)
  t.equal(r.bad, 1)
  return r.limit
end

t.test("the error at 0 that a question allows is what the judge allows", function()
  for _, case in ipairs {               -- dtype, language, underflow; with atomics another
    { "f32", "c", 1, false }, { "f16", "c", 1, false }, { "f64", "c", 1, false },
    { "f16", "c", 2 ^ 30, false }, { "bf16", "c", 512, false },
    { "f16", "cuda", 1, false }, { "f16", "cuda", 2 ^ 20, false },
    { "f32", "cuda", 1, true }, { "bf16", "cuda", 1, true }, { "f64", "cuda", 1, true },
    { "f32", "cuda", 5000, false }, { "f32", "cuda", 1, false, 1e-3 },
  } do
    local dtype, language = case[1], case[2]
    local shape = { n = 4096 }
    local about = { task = { name = "sum", language = language, shape_names = { "n" },
      args = { { name = "y", mode = "out", dtype = dtype, dims = { "n" } } },
      shapes = { smoke = {}, timed = { shape }, held_out = {} }, tolerance = case[5],
      reduction = function(s) return s.n end, underflow = function() return case[3] end } }
    local text = prompt.part("judged", about)
    local plain = text:match "s %+ t, .- t = ([%d.e+-]-)%.?\n"
    local atomics = text:match "atomic additions.- t = ([%d.e+-]-)%.?\n"
    local tasks = require "kernelband.task"
    local function judge(with)
      return ("%.3g"):format(limit_at_zero(dtype, tasks.bound(about.task, shape, with)))
    end
    t.equal({ dtype, language, plain }, { dtype, language, judge(false) })
    t.equal({ dtype, language, atomics }, { dtype, language, case[4] and judge(true) or nil })
    if not case[4] and language == "cuda" then t.equal(judge(true), judge(false)) end
  end
end)

t.test("the draw of an array of integers is shown", function()
  local sorting = { shapes = { timed = { { n = 1 } } }, language = "c", args = {
    { name = "keys", mode = "in", dtype = "u8", dims = { "n" } },
    { name = "at", mode = "in", dtype = "i32", dims = { "n" }, below = "n" },
    { name = "x", mode = "inout", dtype = "i32", dims = { "n" } },
    { name = "f", mode = "in", dtype = "f32", dims = { "n" } },
    { name = "out", mode = "out", dtype = "i32", dims = { "n" } } } }
  t.contains(prompt.part("judged", { task = sorting }), "z is a standard normal. Of integer "
    .. "type: keys takes the absolute value of 16 times that, rounded and saturated (integers as "
    .. "they are); at is drawn evenly below n; x takes 16 times that, rounded and saturated "
    .. "(integers as they are).\n")
end)

t.test("held-out shapes are not shown", function()
  assert(not ask().text:find("127", 1, true))
end)

local measured = { [3] = { shapes = {
  { label = "m=512 k=512 n=512", shape = { m = 512, k = 512, n = 512 }, time_ns = 12500,
    speedup = 5, speedup_low = 4.5, speedup_high = 5.5,
    compute_share = 0.12, bandwidth_share = 0.71 },
  { label = "m=192 k=192 n=192", shape = { m = 192, k = 192, n = 192 }, time_ns = 880,
    speedup = 3.2, speedup_low = 3.1, speedup_high = 3.3,
    compute_share = 0.3, bandwidth_share = 0.2 },
  { label = "m=32 k=256 n=512", shape = { m = 32, k = 256, n = 512 }, time_ns = 700,
    speedup = 9, speedup_low = 8, speedup_high = 10,
    compute_share = 1.09, bandwidth_share = 0.2 } },
  hot = { text = "   0  mulss %xmm0,%xmm1", instructions = 1, shown = 1, calls = {} },
  remarks = { "line 3: not vectorised: because" } } }
local made = { n = 2, parent = 1, child = 3, strategy = "fusion", verdict = "ok", speedup = 4,
               change = "+2 -1 lines", gain = { ratio = 4, low = 3.9, high = 4.1 } }

t.test("the fresh part tells kernel, times by shape, what was tried, direction", function()
  local history = {
    { n = 4, parent = 3, child = 5, strategy = "fusion", verdict = "ok", speedup = 4.5,
      change = "+9 -1 lines, new: `vec`", gain = { ratio = 1.125, low = 1.1, high = 1.15 },
      repaired = true },
    { n = 5, parent = 3, strategy = "tiling", verdict = "build_failed", reason = "error: x\ny" },
    { n = 6, parent = 3, strategy = "pipeline", verdict = "not_applicable", reason = "no loop" } }
  local best = { n = 8, parent = 1, child = 9, strategy = "reordering", verdict = "ok",
                 change = "+1 -1 lines", gain = { ratio = 8, low = 7, high = 9, paired = true } }
  local q = ask(nil, { best = { id = 9, speedup = 8, speedup_low = 7.5, speedup_high = 8.5 },
    history = history, measured = measured, made = { [3] = made, [9] = best },
    rows = { made, history[1], history[2], history[3], best } })
  t.contains(q.fresh, "void matmul(void) { }")
  t.contains(q.fresh, "- m=512 k=512 n=512: 12.50 us, 5.00x the first version (4.50 to 5.50); "
    .. "12.0 % of peak arithmetic, 71.0 % of memory bandwidth: bound by memory bandwidth\n")
  t.contains(q.fresh, "- m=192 k=192 n=192: 880 ns, 3.20x the first version (3.10 to 3.30); "
    .. "30.0 % of peak arithmetic, 20.0 % of L2 bandwidth: bound by neither\n")
  t.contains(q.fresh, "109.0 % of peak arithmetic, 20.0 % of L2 bandwidth: past the arithmetic "
    .. "roof: fewer operations than the task counts, or a peak measured beside other work\n")
  t.contains(q.fresh, "geometric mean: 4.00x the first version\n")
  t.contains(q.fresh, "the fastest so far is kernel 9: 8.00x the first version (7.50 to 8.50)")
  t.contains(q.fresh, "mulss %xmm0")
  t.contains(q.fresh, "line 3: not vectorised: because")
  t.contains(q.fresh, "How this kernel came to be:\n- pull 2 on kernel 1, `fusion`: +2 -1 lines: "
    .. "faster: 4.00x its parent (3.90 to 4.10), kernel 3\nFrom this kernel:\n")
  t.contains(q.fresh, "- pull 4, `fusion`: +9 -1 lines, new: `vec`: faster: 1.12x its parent "
    .. "(1.10 to 1.15) (after a repair), kernel 5\n")
  t.contains(q.fresh, '- pull 5, `tiling`: does not compile: "error: x y"\n')
  t.contains(q.fresh, '- pull 6, `pipeline`: answered NOT APPLICABLE: "no loop"\n')
  t.contains(q.fresh, "The fastest so far:\n- pull 8 on kernel 1, `reordering`")
  t.contains(q.fresh, "# Direction: tiling\n\n")
  t.equal(q.text, q.system .. "\n\n" .. q.stable .. q.fresh)
  for _, row in ipairs(history) do      -- a pull is told once
    local _, times = q.fresh:gsub("pull " .. row.n .. "[ ,]", "")
    t.equal(times, 1)
  end
end)

t.test("a slower child is slower, whatever it gains over the first version", function()
  local q = ask(nil, { history = { { n = 4, parent = 3, child = 5, strategy = "fusion",
    verdict = "ok", speedup = 7.08, gain = { ratio = 0.87, low = 0.85, high = 0.89 } } } })
  t.contains(q.fresh, "slower: 0.87x its parent (0.85 to 0.89)")
  assert(not q.fresh:find("7.08", 1, true))
end)

t.test("the values of open constants are shown with their times", function()
  local q = ask(nil, { history = { { n = 4, parent = 3, child = 5, strategy = "fusion",
    verdict = "ok", gain = { ratio = 1, low = 1, high = 1 }, tuned = {
      { params = { BLOCK = 8, ROWS = 2 }, time_ns = 120400, verdict = "ok" },
      { params = { BLOCK = 16, ROWS = 2 }, verdict = "wrong" } } } } })
  t.contains(q.fresh, "open constants `BLOCK ROWS`, mean time: `8 2` 120.40 us, `16 2` wrong")
end)

t.test("constants that moved do not hide what else changed", function()
  local changes = require "kernelband.base.changes"
  local old = "#define BLOCK 8\nvoid f(void) { plain(); }\n"
  local new = "#define BLOCK 16\nvoid f(void) { vectors(); }\n"
  t.equal(changes.of(old, new, { BLOCK = 8 }, { BLOCK = 16 }, true),
          "+2 -2 lines, new: `vectors`, gone: `plain`, `BLOCK = 8 -> 16`")
  t.equal(changes.of(old, (old:gsub("8", "16")), { BLOCK = 8 }, { BLOCK = 16 }, true),
          "+1 -1 lines, `BLOCK = 8 -> 16`")
  t.equal(changes.of(old, new, { tile = 8 }, { tile = 16 }), "`tile = 8 -> 16`")  -- a schedule's
end)

t.test("eight long constants are shown whole", function()
  local params = {}
  for i = 1, 8 do params["CONSTANT_" .. i] = 1000000 + i end
  local q = ask(nil, { history = { { n = 4, parent = 3, child = 5, strategy = "fusion",
    verdict = "ok", gain = { ratio = 1 }, tuned = { { params = params, time_ns = 1 } } } } })
  t.contains(q.fresh, " CONSTANT_8`, mean time: `1000001 ")
  t.contains(q.fresh, " 1000008` 1 ns")
end)

t.test("a fastest kernel that measured less over the first version says why it is", function()
  local function line(speedup)
    return ask(nil, { best = { id = 9, speedup = speedup } }).fresh:match "the fastest so far[^\n]*"
  end
  t.equal(line(3.5), "the fastest so far is kernel 9: 3.50x the first version; side by side it was "
                     .. "faster")
  t.equal(line(4.5), "the fastest so far is kernel 9: 4.50x the first version")
end)

t.test("the first question has no word of what was tried", function()
  assert(not ask().fresh:find("What was tried", 1, true))
end)

t.test("a long kernel may be answered by a patch, a short one is not asked for one", function()
  local long = { id = 1, source = ("x;\n"):rep(300), time_ns = 1, speedup = 1 }
  t.contains(prompt.new(task, nil, device).propose(long, tiling, {}).fresh, "has 300 lines")
  assert(not ask().fresh:find("```diff", 1, true))
end)

t.test("an unknown fact of a machine is not shown", function()
  local q = prompt.new(task, nil, nil).propose(parent, tiling, {})
  assert(not q.stable:find("# Machine", 1, true))
end)

t.test("the machine is looked at once, so that the stable part stays the same", function()
  local now = { name = "one" }
  local p = prompt.new(task, nil, function() return now end)
  local a = p.propose(parent, tiling, {})
  now = { name = "two" }
  t.equal(p.propose(parent, tiling, {}).stable, a.stable)
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
  assert(not q.fresh:find("unified diff", 1, true))
end)

t.test("a part that is no text is an error that names its line", function()
  t.raises("spec_prompt.lua:", ask, { ask = function() return 5 end })
  t.raises("prompt.ask must return a text or nothing, got 5", ask,
           { ask = function() return 5 end })
end)

t.test("a repair shows the source, what failed and the log", function()
  local p = prompt.new(task, nil, device)
  local q = p.repair({ source = "int broken" }, { verdict = "build_failed", reason = "error: ';'",
                     log = "m.c:1:11: error: ';'\n   1 | int broken" }, tiling)
  t.contains(q.fresh, "int broken\n```")
  t.contains(q.fresh, "It does not compile:")
  local _, times = q.fresh:gsub("error: ';'", "")
  t.equal(times, 1)                     -- the reason is a line of the log
  t.contains(q.fresh, "m.c:1:11")
  t.contains(q.fresh, "keep the idea (tiling)")
  t.equal(q.stable, ask().stable)
  local long = p.repair({ source = "x" }, { verdict = "wrong", reason = ("y"):rep(1e6) }, tiling)
  assert(#long.fresh < 6000)
end)

t.test("a fence in a source does not end the block it stands in", function()
  local q = prompt.new(task).repair({ source = "// ```\n// ````\n" }, { verdict = "wrong" })
  t.contains(q.fresh, "`````c\n// ```\n// ````\n`````")
end)

t.test("bytes that are no UTF-8 do not reach a request", function()
  local q = prompt.new(task).repair({ source = "a\xff\0b" }, { verdict = "wrong" })
  assert(utf8.len(q.text))
end)

t.test("for CUDA the launch plan is explained", function()
  local cuda = require("kernelband.task").for_language(kb.task "examples/tasks/softmax", "cuda")
  local q = prompt.new(cuda, nil, { name = "a GPU", language = "cuda", compiler = "NVRTC 13",
    flags = "", arch = 90, sm_count = 132, sm_threads = 2048, sm_registers = 65536,
    sm_shared_bytes = 233472, block_shared_bytes = 232448, l2_bytes = 52428800 })
    .propose(parent, kb.strategy "strategies/cuda/tiling.lua", {})
  t.contains(q.system, "CUDA kernels")
  t.contains(q.stable, "// kb: launch softmax grid=(cdiv(rows,256)) block=(256) shared=0 "
                       .. "args=(x, y, rows")
  t.contains(q.stable, "compute capability 9.0")
  t.contains(q.stable, "132 multiprocessors, each with 2048 threads, 65536 registers and 228 KiB")
  t.contains(q.stable, "at most 227 KiB of shared memory a block")
  t.contains(q.fresh, "```cuda\n")
end)

t.finish()
