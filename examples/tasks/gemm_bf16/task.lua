-- Matrix product c = a b, bf16 in and out, sums in fp32, row-major, no leading
-- dimensions. Legal domain: m, n, k multiples of 8, at least 8.

return {
  name = "gemm_bf16",
  summary = "matrix product c = a b, bf16 with fp32 sums, row-major",
  args = {
    { "a", "bf16", "in", { "m", "k" } },
    { "b", "bf16", "in", { "k", "n" } },
    { "c", "bf16", "out", { "m", "n" } },
    { "m", "i32" }, { "n", "i32" }, { "k", "i32" },
  },
  shapes = {
    smoke = {
      { m = 8, n = 8, k = 8 },
      { m = 24, n = 40, k = 16 },
      { m = 72, n = 136, k = 40 },
    },
    timed = {
      { m = 4096, n = 4096, k = 4096 },
      { m = 1024, n = 14336, k = 4096 },   -- up projection, 1,024 tokens
    },
    held_out = {
      { m = 136, n = 120, k = 72 },        -- tile + 8, tile - 8
      { m = 8, n = 264, k = 136 },
      { m = 248, n = 8, k = 56 },
      { m = 1016, n = 328, k = 1144 },     -- 8 times a prime each
    },
  },
  work = function(s)
    return {
      flops = 2 * s.m * s.n * s.k,
      bytes = 2 * (s.m * s.k + s.k * s.n + s.m * s.n),
    }
  end,
  reduction = function(s) return s.k end,
  scale = "absolute",
  reference = { cuda = "reference.cu" },
  baseline = { cuda = "baseline.cu" },
  schedule = { cuda = "schedule_cuda.lua" },
}
