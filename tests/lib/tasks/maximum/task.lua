-- The greatest of many numbers: the answer hangs on one of them.
return {
  name = "maximum", summary = "y[0] = the greatest of x, fp32",
  args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { 1 } }, { "n", "i32" } },
  shapes = {
    smoke    = { { n = 1 }, { n = 37 } },
    timed    = { { n = 262144 } },
    held_out = { { n = 1021 }, { n = 4097 } },
  },
  work = function(s) return { flops = s.n, bytes = 4 * s.n } end,
  reduction = function() return 1 end,
  reference = { c = "baseline.c" },
  baseline = { c = "baseline.c" },
}
