-- Sums of squares of long rows: what a bound on sums is tried on.
return {
  name = "sumsq",
  summary = "y[r] = sum of x[r]^2, fp32",
  args = { { "x", "f32", "in", { "rows", "cols" } }, { "y", "f32", "out", { "rows" } },
           { "rows", "i32" }, { "cols", "i32" } },
  shapes = { smoke = { { rows = 1, cols = 1 }, { rows = 3, cols = 16384 } },
             timed = { { rows = 48, cols = 4096 } },
             held_out = { { rows = 7, cols = 4099 }, { rows = 1, cols = 257 } } },
  work = function(s) return { flops = 2 * s.rows * s.cols, bytes = 4 * s.rows * s.cols } end,
  reduction = function(s) return s.cols end,
  scale = "result",
  reference = { c = "reference.c" },
  baseline = { c = "baseline.c" },
}
