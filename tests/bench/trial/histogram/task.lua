-- The histogram of examples/tasks/histogram at sizes for one core.
return {
  name = "histogram",
  summary = "histogram of bytes, exact",
  args = {
    { "keys", "u8", "in", { "n" } },
    { "counts", "i32", "out", { 256 } },
    { "n", "i32" },
  },
  shapes = {
    smoke = { { n = 1 }, { n = 259 } },
    timed = { { n = 1048576 }, { n = 65536 }, { n = 4096 } },
    held_out = { { n = 4093 }, { n = 65537 }, { n = 100003 } },
  },
  work = function(s) return { flops = 0, bytes = s.n + 1024 } end,
  exact = true,
  reference = { c = "reference.c" },
  baseline = { c = "baseline.c" },
}
