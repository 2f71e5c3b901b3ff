-- y = 1 / (1 + y^2), a few times, on the spot: no array is an input alone.
return {
  name = "relax", summary = "y = 1 / (1 + y^2), eight times, fp32, in place",
  args = { { "y", "f32", "inout", { "n" } }, { "n", "i32" } },
  shapes = {
    smoke    = { { n = 1 }, { n = 37 } },
    timed    = { { n = 2048 } },
    held_out = { { n = 1021 }, { n = 4097 } },
  },
  work = function(s) return { flops = 24 * s.n, bytes = 8 * s.n } end,
  reduction = function() return 24 end,
  reference = { c = "baseline.c" },
  baseline = { c = "baseline.c" },
}
