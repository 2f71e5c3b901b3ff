-- How often each byte occurs. Legal domain: 1 <= n < 2^31 - 2^24.

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
    timed = {
      { n = 67108864 },                  -- 64 MiB
      { n = 16777216 },
    },
    held_out = { { n = 4093 }, { n = 65537 }, { n = 1000003 } },
  },
  work = function(s)
    return { flops = 0, bytes = s.n + 1024 }
  end,
  exact = true,
  reference = { cuda = "reference.cu" },
  baseline = { cuda = "baseline.cu" },
  schedule = { cuda = "schedule_cuda.lua" },
}
