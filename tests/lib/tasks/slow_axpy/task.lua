-- axpy whose baseline makes eighty passes. Its work is said to be so little that a candidate is far
-- above the floor, also where roofs were measured beside a busy machine.
return {
  name = "axpy", summary = "y = 2 x + 1, fp32, slow",
  args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } },
  shapes = { smoke = { { n = 7 } }, timed = { { n = 20000 } }, held_out = { { n = 1021 } } },
  work = function(s) return { flops = s.n, bytes = s.n } end,
  reference = { c = "../axpy/reference.c" }, baseline = { c = "baseline.c" },
}
