-- y[i] = x[i] / (1 + y[i-1]^2): each element waits for the one before.
return {
  name = "recurrence", summary = "y[i] = x[i] / (1 + y[i-1]^2), fp32",
  args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } },
  shapes = {
    smoke    = { { n = 1 }, { n = 37 } },
    timed    = { { n = 2048 } },
    held_out = { { n = 1021 }, { n = 4097 } },
  },
  work = function(s) return { flops = 3 * s.n, bytes = 8 * s.n } end,
  reduction = function() return 8 end,
  reference = { c = "baseline.c" },
  baseline = { c = "baseline.c" },
}
