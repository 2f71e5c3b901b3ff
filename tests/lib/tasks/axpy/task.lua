-- y = 2 x + 1: as small as a task can be, for tests of the evaluator.
return {
  name = "axpy", summary = "y = 2 x + 1, fp32",
  args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } },
  shapes = {
    smoke    = { { n = 1 }, { n = 37 } },
    timed    = { { n = 65536 } },
    held_out = { { n = 1021 }, { n = 4096 }, { n = 4097 } },
  },
  work = function(s) return { flops = 2 * s.n, bytes = 8 * s.n } end,
  reference = { c = "reference.c", cuda = "reference.cu" },
  baseline = { c = "baseline.c", cuda = "baseline.cu" },
}
