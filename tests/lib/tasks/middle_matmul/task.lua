-- matmul of examples/tasks at one timed shape, large enough for kept answers to be far faster than
-- honest kernels, and no larger.
return {
  name = "matmul", summary = "C = A B, fp32, of one size",
  args = { { "a", "f32", "in", { "m", "k" } }, { "b", "f32", "in", { "k", "n" } },
           { "c", "f32", "out", { "m", "n" } }, { "m", "i32" }, { "n", "i32" }, { "k", "i32" } },
  shapes = {
    smoke    = { { m = 1, n = 1, k = 1 }, { m = 17, n = 33, k = 9 } },
    timed    = { { m = 256, n = 256, k = 256 } },
    held_out = { { m = 37, n = 65, k = 61 }, { m = 1, n = 255, k = 131 },
                 { m = 33, n = 1, k = 67 } },
  },
  work = function(s)
    return { flops = 2 * s.m * s.n * s.k, bytes = 4 * (s.m * s.k + s.k * s.n + s.m * s.n) }
  end,
  reduction = function(s) return s.k > 8 and s.k or 8 end,
  scale = "absolute",
  reference = { c = "../../../../examples/tasks/matmul/reference.c" },
  baseline = { c = "../../../../examples/tasks/matmul/baseline.c" },
}
