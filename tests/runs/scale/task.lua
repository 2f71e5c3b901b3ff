-- The task of the kept runs: small, quick, and with a gain that no machine hides.
return {
  name = "scale", summary = "y = 3 x",
  args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } },
  shapes = { smoke = { { n = 1 } }, timed = { { n = 20000 } }, held_out = { { n = 1021 } } },
  work = function(s) return { flops = s.n, bytes = 8 * s.n } end,
  reference = { c = "reference.c" }, baseline = { c = "baseline.c" }, schedule = "schedule.lua",
}
