-- y = 3 x, whose kernels tests/lib/stub/driver.c knows by name.
return {
  name = "scale", summary = "y = 3 x, fp32",
  args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } },
  shapes = { smoke = { { n = 5 } }, timed = { { n = 4096 } }, held_out = { { n = 1021 } } },
  work = function(s) return { flops = s.n, bytes = 8 * s.n } end,
  reference = { cuda = "reference.cu" }, baseline = { cuda = "baseline.cu" },
}
