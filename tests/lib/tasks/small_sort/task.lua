-- Few numbers, sorted on the spot: what is drawn for a sample is seen at once in its time.
return {
  name = "small_sort", summary = "y in ascending order, fp32, in place",
  args = { { "y", "f32", "inout", { "n" } }, { "n", "i32" } },
  shapes = { smoke = { { n = 1 }, { n = 37 } }, timed = { { n = 8 } },
             held_out = { { n = 9 }, { n = 33 } } },
  work = function(s) return { flops = 3 * s.n, bytes = 8 * s.n } end,
  exact = true,
  reference = { c = "baseline.c" },
  baseline = { c = "baseline.c" },
}
