-- y = 1 / (1 + x^2), again and again: so much work for an element that finding its answer among
-- kept ones would pay.
return {
  name = "many_steps", summary = "y = 1 / (1 + x^2), sixty-four times, fp32",
  args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } },
  shapes = { smoke = { { n = 1 }, { n = 37 } }, timed = { { n = 2048 } },
             held_out = { { n = 1021 }, { n = 4097 } } },
  work = function(s) return { flops = 192 * s.n, bytes = 8 * s.n } end,
  reduction = function() return 192 end,
  reference = { c = "baseline.c" },
  baseline = { c = "baseline.c" },
}
