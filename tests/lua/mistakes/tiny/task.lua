-- y = 2 x + 1 on a few numbers: what the mistakes of task.lua are made in.
return {
  name = "tiny", summary = "y = 2 x + 1",
  args = { { "x", "f32", "in", { "n" } }, { "y", "f32", "out", { "n" } }, { "n", "i32" } },
  shapes = {
    smoke = { { n = 7 } },
    timed = { { n = 4096 } },
    held_out = { { n = 33 } },
  },
  work = function(s) return { flops = 2 * s.n, bytes = 8 * s.n } end,
  reference = { c = "reference.c" },
  baseline = { c = "baseline.c" },
  schedule = "schedule.lua",
}
