-- y = 2 x + y on the spot: an array that is input and output.
return {
  name = "update", summary = "y = 2 x + y, fp32, in place",
  args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "inout", { "n" } }, { "n", "i32" } },
  shapes = {
    smoke    = { { n = 1 }, { n = 37 } },
    timed    = { { n = 65536 } },
    held_out = { { n = 1021 }, { n = 4097 } },
  },
  work = function(s) return { flops = 2 * s.n, bytes = 12 * s.n } end,
  scale = "absolute",
  reference = { c = "reference.c", cuda = "reference.cu" },
  baseline = { c = "baseline.c", cuda = "baseline.cu" },
}
