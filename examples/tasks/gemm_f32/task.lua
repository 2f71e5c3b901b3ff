-- Matrix product c = a b, fp32, row-major, no leading dimensions.
-- Legal domain: m, n, k >= 1.

return {
  name = "gemm_f32",
  summary = "matrix product c = a b, fp32, row-major, at the size of a GPU",
  args = {
    { "a", "f32", "in", { "m", "k" } },
    { "b", "f32", "in", { "k", "n" } },
    { "c", "f32", "out", { "m", "n" } },
    { "m", "i32" }, { "n", "i32" }, { "k", "i32" },
  },
  shapes = {
    smoke = {
      { m = 1, n = 1, k = 1 },
      { m = 3, n = 5, k = 2 },
      { m = 70, n = 132, k = 36 },
    },
    timed = {
      { m = 4096, n = 4096, k = 4096 },
      { m = 512, n = 14336, k = 4096 },    -- up projection, 512 tokens
    },
    held_out = {
      { m = 127, n = 129, k = 61 },        -- prime, tile + 1, prime
      { m = 97, n = 65, k = 257 },
      { m = 1, n = 255, k = 131 },
      { m = 133, n = 1, k = 67 },
      { m = 260, n = 516, k = 68 },        -- tiles + 4
    },
  },
  work = function(s)
    return {
      flops = 2 * s.m * s.n * s.k,
      bytes = 4 * (s.m * s.k + s.k * s.n + s.m * s.n),
    }
  end,
  -- 3xTF32 is up to eight units off in one product: as much as adding up eight terms.
  reduction = function(s) return s.k > 8 and s.k or 8 end,
  scale = "absolute",
  reference = { cuda = "reference.cu" },
  baseline = { cuda = "baseline.cu" },
  schedule = { cuda = "schedule_cuda.lua" },
}
