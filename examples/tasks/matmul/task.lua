-- Matrix product c = a b, fp32, row-major, no leading dimensions.
-- Legal domain: m, n, k >= 1.

return {
  name = "matmul",
  summary = "matrix product c = a b, fp32, row-major",
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
      { m = 17, n = 33, k = 9 },
    },
    timed = {
      { m = 512, n = 512, k = 512 },
      { m = 192, n = 192, k = 192 },
      { m = 32, n = 512, k = 256 },
    },
    held_out = {
      { m = 127, n = 129, k = 61 },   -- prime, tile + 1, prime
      { m = 97, n = 65, k = 257 },
      { m = 1, n = 255, k = 131 },
      { m = 133, n = 1, k = 67 },
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
  reference = { c = "reference.c" },
  baseline = { c = "baseline.c" },
  schedule = "schedule.lua",
}
